import { Type } from 'typebox';

import { type FieldPath, formatCount, isSecretKey } from '../grammar/index.js';
import { annotate, type FieldError, mapSchema, type Refuse, type Rule, rule } from '../rule/index.js';

/** More keys than any configuration allows. */
const KEYS_MAX = 1024;

type Values = Readonly<Record<string, string>>;

export const valuesSchema = mapSchema(
  Type.String(annotate({ 'x-redact': true, 'x-expected': 'a string; numbers and booleans in quotes' })),
  {
    maxProperties: KEYS_MAX,
    ...annotate({ 'x-redact': true, 'x-transient': true, 'x-expected': 'a map of keys to strings' }),
  },
);

const keysAreKeys = rule('secret_key_invalid', (values: Values, at, refuse) =>
  Object.keys(values)
    .filter(key => !isSecretKey(key))
    .map(key => refuse(at.child(key), key)),
);

const valuesAreThere = rule('secret_value_empty', (values: Values, at, refuse) =>
  Object.entries(values)
    .filter(([, value]) => value === '')
    .map(([key, value]) => refuse(at.child(key), value)),
);

const valuesAreShort = rule('secret_value_too_long', (values: Values, at, refuse, { limits }: MaterialContext) =>
  Object.entries(values)
    .filter(([, value]) => Buffer.byteLength(value) > limits.secrets.valueMax)
    .map(([key, value]) => refuse(at.child(key), value, { max: limits.secrets.valueMax })),
);

const documentFits = rule('field_invalid', (values: Values, at, refuse, { limits }: MaterialContext) => {
  const { keysMax, documentMax } = limits.secrets;
  const entries = Object.entries(values);
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (entries.length <= keysMax && bytes <= documentMax) return undefined;
  const describe = (keys: number, size: number) => [formatCount(keys, 'key'), formatCount(size, 'byte')];
  const wanted = `at most ${describe(keysMax, documentMax).join(' and ')} in all`;
  return refuse(at, describe(entries.length, bytes).join(', '), { wanted });
});

/** The rules of given values, in the order a client should learn of them. */
export const valuesRules: readonly Rule<never, MaterialContext>[] = [
  keysAreKeys,
  valuesAreThere,
  valuesAreShort,
  documentFits,
].map(inner => ({
  ...inner,
  check: (values, at, facts) => (isMap(values) ? inner.check(values, at, facts) : undefined),
}));

function isMap(values: unknown): values is Values {
  return typeof values === 'object' && values !== null && !Array.isArray(values);
}

/** `values` of a write of one credential, where an empty one has a code of its own. */
export const writtenValuesSchema = Type.Unsafe<Record<string, string>>({
  ...valuesSchema,
  ...annotate({ 'x-rules': true }),
});

/** Whether a write brings nothing: no values, none in the map, or `null` in their place. */
export function hasNoValues(values: unknown): boolean {
  return values === undefined || values === null || (isMap(values) && Object.keys(values).length === 0);
}

/** Keys that are both given and to be generated. */
export function findProvidedAndGenerated(
  values: unknown,
  generate: unknown,
  at: FieldPath,
  refuse: Refuse<'secret_key_provided_and_generated'>,
): readonly FieldError[] {
  const keys = (generate as { readonly keys?: unknown } | undefined)?.keys;
  if (typeof values !== 'object' || values === null || !Array.isArray(keys)) return [];
  return keys.flatMap((key: unknown, position) =>
    typeof key === 'string' && Object.hasOwn(values, key) ? refuse(at.child('keys').index(position), key) : [],
  );
}

/** The limits of secret material. Set by configuration, never by a tenant. */
export interface SecretLimits {
  /** Bytes of one value. */
  readonly valueMax: number;
  /** Bytes of all keys and values of one credential. */
  readonly documentMax: number;
  /** Keys of one credential. */
  readonly keysMax: number;
  readonly bytesMin: number;
  readonly bytesMax: number;
  readonly bytesDefault: number;
  readonly lengthMax: number;
  /** Bits of chance that a generated value has at least. */
  readonly entropyFloor: number;
  /** Characters that random bytes may become at most. */
  readonly encodedMax: number;
}

/** The limits of the default configuration. */
export const defaultSecretLimits: SecretLimits = {
  valueMax: 65_536,
  documentMax: 262_144,
  keysMax: 64,
  bytesMin: 16,
  bytesMax: 3072,
  bytesDefault: 32,
  lengthMax: 4096,
  entropyFloor: 128,
  encodedMax: 4096,
};

/** What the rules of material look at, beside the material. */
export interface MaterialContext {
  readonly limits: { readonly secrets: SecretLimits };
}
