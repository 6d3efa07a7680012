import { Type } from 'typebox';

import { parseTemplate, findPlaceholders } from '../grammar/index.js';
import { annotate, type FieldRules, mapSchema, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';
import { environmentNamesRule } from './environment.js';
import { toSecretLabel } from './secrets.js';

const TEMPLATES_MAX = 64;
const TEMPLATE_MAX = 8192;

type Templates = Readonly<Record<string, string>>;

export const composedSecretsSchema = mapSchema(
  Type.String({
    maxLength: TEMPLATE_MAX,
    pattern: '^[^\\u0000]*$',
    ...annotate({ 'x-redact': true, 'x-expected': `a template without NUL, of at most ${TEMPLATE_MAX} characters` }),
  }),
  {
    maxProperties: TEMPLATES_MAX,
    ...annotate({ 'x-redact': true, 'x-expected': `a map of at most ${TEMPLATES_MAX} templates` }),
  },
);

const templatesSaySomething = rule(
  'secret_compose_template_empty',
  (templates: Templates, at, _context: Context, refuse) =>
    Object.entries(templates)
      .filter(([, template]) => template.trim() === '')
      .map(([name, template]) => refuse(at.child(name), template)),
);

const placeholdersAreWellFormed = rule(
  'secret_compose_template_malformed',
  (templates: Templates, at, _context: Context, refuse) =>
    Object.entries(templates)
      .filter(([, template]) => parseTemplate(template) === undefined)
      .map(([name, template]) => refuse(at.child(name), template)),
);

const templatesRefer = rule('secret_compose_no_reference', (templates: Templates, at, _context: Context, refuse) =>
  Object.entries(templates)
    .filter(([, template]) => findPlaceholders(parseTemplate(template) ?? []).length === 0)
    .map(([name, template]) => refuse(at.child(name), template)),
);

export const composedSecretsRules: FieldRules<Context> = {
  field: 'composedSecrets',
  present: [templatesSaySomething, placeholdersAreWellFormed, templatesRefer, environmentNamesRule],
};

const resourcesAreDeclared = rule(
  'secret_compose_resource_undeclared',
  (templates: Templates, at, { document, isWhole }: Context, refuse) => {
    if (!isWhole('secrets')) return undefined;
    const entries = (document['secrets'] ?? []) as readonly { readonly vault_path?: unknown }[];
    const declared = [...new Set(entries.flatMap(entry => toSecretLabel(entry.vault_path) ?? []))];
    return Object.entries(templates)
      .filter(([, template]) =>
        findPlaceholders(parseTemplate(template) ?? []).some(({ resource }) => !declared.includes(resource)),
      )
      .map(([name, template]) => refuse(at.child(name), template, { declared }));
  },
);

/** Templates may use what the workload declares. Asked when either changes. */
export const composedReferenceRules: FieldRules<Context> = {
  field: 'composedSecrets',
  with: ['secrets'],
  present: [resourcesAreDeclared],
};
