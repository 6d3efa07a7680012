import { type TObject, Type } from 'typebox';

import { environmentRequestSchema } from '../delivery/index.js';
import type { Kind } from '../kind/index.js';
import { kinds, quotaRequestSchema } from '../kinds/index.js';
import { reportBatchSchema } from '../report/index.js';

/** A change of an object: every field may be left out, and `null` takes one away. */
function toChangeSchema(schema: TObject): TObject {
  const fields = Object.entries(schema.properties).map(([name, field]) => [
    name,
    Type.Optional(Type.Unsafe<unknown>({ anyOf: [field, { type: 'null' }] })),
  ]);
  return Type.Object(Object.fromEntries(fields), { additionalProperties: false });
}

/** Every body that a client sends, by the name of its component. The same schemas are what bodies are checked with. */
export function listBodies(known: readonly Kind[] = kinds): Readonly<Record<string, TObject>> {
  return {
    ...Object.fromEntries(known.flatMap(listKindBodies)),
    QuotaRequest: quotaRequestSchema,
    ReportBatch: reportBatchSchema,
    EnvironmentRequest: environmentRequestSchema,
  };
}

function listKindBodies({ kind, body, operations, requests = {} }: Kind): [name: string, schema: TObject][] {
  return [
    ...(body ? [[kind, body] as [string, TObject]] : []),
    ...(body && operations.includes('update') ? [[`${kind}Change`, toChangeSchema(body)] as [string, TObject]] : []),
    ...Object.entries(requests),
  ];
}
