import { Type } from 'typebox';

import { parseCpu, parseMemory } from '../grammar/index.js';
import { annotate, type FieldRules, attachFix, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';

/** What a replica asks of a node. Requests inform placement; nothing is reserved. */
export interface ResourceRequests {
  readonly cpu?: string;
  readonly memory?: string;
}

const byRules = annotate({ 'x-rules': true });

export const resourcesSchema = Type.Object(
  { cpu: Type.Optional(Type.String(byRules)), memory: Type.Optional(Type.String(byRules)) },
  { additionalProperties: false, ...annotate({ 'x-expected': 'an object with cpu and memory' }) },
);

type SentResources = { readonly [Part in keyof ResourceRequests]?: unknown };

const FORMS = {
  cpu: { read: parseCpu, form: 'thousandths of a core such as 500m, or cores such as 1.5, above zero' },
  memory: { read: parseMemory, form: 'bytes with a unit such as 256Mi or 1G, above zero' },
} as const;

const quantityOf = (part: keyof typeof FORMS) =>
  rule('resources_quantity_invalid', (resources: SentResources, at, _context: Context, refuse) => {
    const value = resources[part];
    if (value === undefined) return undefined;
    const { read, form } = FORMS[part];
    if (typeof value === 'string' && (read(value) ?? 0) > 0) return undefined;

    const finding = refuse(at.child(part), value, { form });
    const isMeant = typeof value === 'number' && (read(String(value)) ?? 0) > 0;
    return isMeant
      ? attachFix(finding, { op: 'replace', path: at.child(part).toPointer(), value: String(value) })
      : finding;
  });

export const resourcesRules: FieldRules<Context> = {
  field: 'resources',
  present: [quantityOf('cpu'), quantityOf('memory')],
};
