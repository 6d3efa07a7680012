import { Type } from 'typebox';

import { FieldPath, isSecretLabel } from '../grammar/index.js';
import { reject, type Rejection } from '../rejections/index.js';
import { annotate, type CheckResult, createValidator, type FieldRules, rule, toCheckFailure } from '../rule/index.js';
import { type GenerateInput, generateRules, generateSchema, type Generation, toGeneration } from './generate.js';
import {
  findProvidedAndGenerated,
  hasNoValues,
  type MaterialContext,
  type SecretLimits,
  valuesRules,
  writtenValuesSchema,
} from './values.js';

/** Material for one credential, ready for the secrets store. */
export interface SecretWrite {
  readonly namespace: string;
  readonly label: string;
  readonly values: Readonly<Record<string, string>>;
  readonly generation?: Generation;
}

/** `PUT /api/v1/secrets/{namespace}/{resource}`. */
export const secretWriteSchema = Type.Object(
  { values: Type.Optional(writtenValuesSchema), generate: Type.Optional(generateSchema) },
  { additionalProperties: false, ...annotate({ 'x-redact': 'throughout' }) },
);

interface Context extends MaterialContext {
  readonly document: Readonly<Record<string, unknown>>;
}

const keysAreApart = rule('secret_key_provided_and_generated', (generate: unknown, at, refuse, context: Context) =>
  findProvidedAndGenerated(context.document['values'], generate, at, refuse),
);

const somethingIsThere = rule('secret_write_empty', (values: unknown, at, refuse, { document }: Context) => {
  const isEmpty = values === null || (hasNoValues(values) && document['generate'] === undefined);
  return isEmpty ? refuse(at, values) : undefined;
});

const fields: readonly FieldRules<Context>[] = [
  { field: 'values', absent: somethingIsThere, present: [somethingIsThere, ...valuesRules] },
  { field: 'generate', present: [...generateRules, keysAreApart] },
];

const validate = createValidator(secretWriteSchema, fields);

/** What a secret write must know. */
export interface SecretWriteRequest {
  /** From the path. */
  readonly namespace: string;
  /** From the path: the label. */
  readonly resource: string;
  readonly document: unknown;
}

/** Judges a write of material: path and body together, all faults at once. */
export function checkSecretWrite(
  { namespace, resource, document }: SecretWriteRequest,
  granted: readonly string[],
  limits: SecretLimits,
): CheckResult<SecretWrite> {
  const path = [
    ...(granted.includes(namespace) ? [] : [reject('secret_path_namespace', NAMESPACE, namespace, { granted })]),
    ...(isSecretLabel(resource) ? [] : [reject('secret_path_shape', RESOURCE, resource, { granted })]),
  ];
  const body = validate(document, sound => ({
    limits: { secrets: limits },
    // A part that has not its shape has been spoken of: it must not count as nothing.
    document: sound.isWhole('generate') ? sound.document : { ...sound.document, generate: {} },
  }));
  const refused = toCheckFailure([...path, ...body]);
  if (refused) return refused;

  const { values = {}, generate } = document as { values?: Record<string, string>; generate?: GenerateInput };
  const generation = generate && toGeneration(generate, limits);
  return { ok: true, value: { namespace, label: resource, values, ...(generation && { generation }) } };
}

const NAMESPACE = FieldPath.root.child('namespace');
const RESOURCE = FieldPath.root.child('resource');

/** Where a record may hold the description of a workload. */
const HOLDERS = ['spec', 'template'] as const;
/** Where it may hold several. */
const LISTS = ['revisions'] as const;

const CODES = { values: 'secret_material_would_persist', generate: 'secret_generate_would_persist' } as const;

/**
 * The last gate before a record is stored: whatever path led here, it may hold references to secrets and no material.
 *
 * Looks at `secrets` of the record itself and of the spec or template inside it.
 */
export function guardPersisted(record: unknown): Rejection | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const fields = record as Readonly<Record<string, unknown>>;
  const listed = LISTS.flatMap(list => (Array.isArray(fields[list]) ? (fields[list] as readonly unknown[]) : []));
  const held = [...HOLDERS.map(holder => fields[holder]), ...listed];
  return guardEntries(fields['secrets']) ?? first(held.map(guardPersisted));
}

function guardEntries(secrets: unknown): Rejection | undefined {
  if (!Array.isArray(secrets)) return undefined;
  for (const [position, entry] of secrets.entries()) {
    if (typeof entry !== 'object' || entry === null) continue;
    for (const part of ['values', 'generate'] as const) {
      const value = (entry as Readonly<Record<string, unknown>>)[part];
      const at = FieldPath.root.child('secrets').index(position).child(part);
      if (value !== undefined) return reject(CODES[part], at, value);
    }
  }
  return undefined;
}

function first(found: readonly (Rejection | undefined)[]): Rejection | undefined {
  return found.find(rejection => rejection !== undefined);
}
