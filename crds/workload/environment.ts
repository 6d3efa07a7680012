import { Type } from 'typebox';

import { FieldPath, findPlaceholders, parseSecretPath, parseTemplate } from '../grammar/index.js';
import { annotate, attachFix, type FieldError, type FieldRules, mapSchema, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';
import { isCredential } from './credential.js';

const VARIABLES_MAX = 512;
const VALUE_MAX = 32_768;
const NAME = /^[A-Za-z_.-][A-Za-z0-9_.-]{0,254}$/;

type Environment = Readonly<Record<string, string>>;

export const environmentSchema = mapSchema(
  Type.String({
    maxLength: VALUE_MAX,
    pattern: '^[^\\u0000]*$',
    ...annotate({
      'x-redact': true,
      'x-expected': `a string without NUL, of at most ${VALUE_MAX} characters; numbers and booleans in quotes`,
    }),
  }),
  {
    maxProperties: VARIABLES_MAX,
    ...annotate({ 'x-redact': true, 'x-expected': `a map of at most ${VARIABLES_MAX} strings` }),
  },
);

/** The names of variables, whichever field they are set in. */
export const environmentNamesRule = rule('environment_name_invalid', (environment: Environment, at, refuse) =>
  Object.keys(environment)
    .filter(name => !NAME.test(name))
    .map(name => refuse(at.child(name), name)),
);

const holdsNoCredential = rule(
  'plaintext_credential_in_environment',
  (environment: Environment, at, refuse, context: Context) =>
    Object.keys(environment)
      .filter(name => isCredential(name, environment[name]!))
      .map(name => refuse(at.child(name), environment[name], { name: context.name })),
);

const PLACEHOLDER = /\{\{\s*secret\./;

/** Nothing fills in a placeholder here: the container would get its text. */
const holdsNoTemplate = rule(
  'secret_template_in_environment',
  (environment: Environment, at, refuse, context: Context) =>
    Object.keys(environment)
      .filter(name => PLACEHOLDER.test(environment[name]!))
      .map(name => {
        const value = environment[name]!;
        const error = refuse(at.child(name), value, { variable: name });
        if (!resolvesIn(context.document, value)) return error;
        const composed = FieldPath.root.child('composedSecrets');
        const move = { op: 'move', from: at.child(name).toPointer(), path: composed.child(name).toPointer() } as const;
        const isFirst = context.document['composedSecrets'] === undefined;
        return isFirst
          ? attachFix(error, { op: 'add', path: composed.toPointer(), value: {} }, move)
          : attachFix(error, move);
      }),
);

/** Whether a value is a template of which every secret is declared. */
function resolvesIn(document: Map, value: string): boolean {
  const entries = (Array.isArray(document['secrets']) ? document['secrets'] : []) as readonly Loose[];
  const declared = entries.map(({ vault_path: path }) => typeof path === 'string' && parseSecretPath(path)?.label);
  const parts = parseTemplate(value);
  return parts !== undefined && findPlaceholders(parts).every(({ resource }) => declared.includes(resource));
}

export const environmentRules: FieldRules<Context> = {
  field: 'environment',
  present: [holdsNoCredential, holdsNoTemplate, environmentNamesRule],
};

type Map = Readonly<Record<string, unknown>>;
type Loose = {
  readonly name?: unknown;
  readonly vault_path?: unknown;
  readonly values?: Map;
  readonly generate?: { readonly keys?: unknown };
};

/** Something that sets a variable. */
interface Setter {
  readonly variable: string;
  readonly field: string;
  /** Position in the list, for entries of `secrets`. */
  readonly position?: number;
}

/** Everything that sets a variable, as far as it is known: in the order of the fields. */
function listSetters(document: Map, secretKeys: Readonly<Record<string, readonly string[]>>): readonly Setter[] {
  const inMap = (field: string): Setter[] =>
    Object.keys((document[field] ?? {}) as Map).map(variable => ({ variable, field }));
  const entries = (Array.isArray(document['secrets']) ? document['secrets'] : []) as readonly Loose[];
  const secrets = entries.flatMap((entry, position): Setter[] => {
    const { name } = entry;
    if (typeof name !== 'string') return [];
    const delivered = listSecretKeys(entry, secretKeys).map(key => `${name}_${key}`);
    return [...delivered, prefixMark(name)].map(variable => ({ variable, field: 'secrets', position }));
  });
  return [...inMap('environment'), ...secrets, ...inMap('composedSecrets')];
}

/** Where a client finds what sets the variable. */
function toSetterPath({ variable, field, position }: Setter): FieldPath {
  const at = FieldPath.root.child(field);
  return position === undefined ? at.child(variable) : at.index(position).child('name');
}

/** No variable has this name: it makes two entries of one name meet, whatever their keys are. */
function prefixMark(prefix: string): string {
  return `${prefix}=`;
}

/** The keys of an entry that are known now: those that exist, that are given and that are to be generated. */
function listSecretKeys(
  { vault_path: path, values, generate }: Loose,
  known: Readonly<Record<string, readonly string[]>>,
) {
  const existing = typeof path === 'string' && Object.hasOwn(known, path) ? known[path]! : [];
  const generated = Array.isArray(generate?.keys) ? (generate.keys as unknown[]) : [];
  const named = generated.filter(key => typeof key === 'string');
  return [...new Set([...existing, ...Object.keys(values ?? {}), ...named])];
}

const variablesAreDistinct = rule('environment_name_conflict', (_value: unknown, _at, refuse, context: Context) => {
  const { document } = context;
  // The names in one map are distinct.
  if (document['secrets'] === undefined && document['composedSecrets'] === undefined) return undefined;
  const first = new Map<string, Setter>();
  // One for each place: an entry of a list, or the key of a map.
  const errors = new Map<string | number, FieldError>();
  for (const setter of listSetters(document, context.facts.secretKeys)) {
    const other = first.get(setter.variable);
    if (!other) {
      first.set(setter.variable, setter);
      continue;
    }
    const place = setter.position ?? setter.variable;
    if (errors.has(place)) continue;
    errors.set(place, refuse(toSetterPath(setter), setter.variable, { other: toSetterPath(other).toString() }));
  }
  return [...errors.values()];
});

/** One rule for all fields that set variables: it is applied once, to the first of them that is set. */
export const variablesRules: FieldRules<Context> = {
  field: 'environment',
  with: ['secrets', 'composedSecrets'],
  absent: variablesAreDistinct,
  present: [variablesAreDistinct],
};
