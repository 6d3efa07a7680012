import { type Static, Type } from 'typebox';

import { isSecretKey } from '../grammar/index.js';
import { annotate, type Rule, rule } from '../rule/index.js';
import type { MaterialContext, SecretLimits } from './values.js';

/** Characters that a byte becomes, by encoding: base64url goes without padding. */
const ENCODED: Readonly<Record<Encoding, (bytes: number) => number>> = {
  hex: bytes => bytes * 2,
  base64: bytes => Math.ceil(bytes / 3) * 4,
  base64url: bytes => Math.ceil((bytes * 4) / 3),
};

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The alphabets that characters are drawn from. */
export const alphabets: Readonly<Record<Charset, string>> = {
  alphanumeric: LETTERS,
  urlsafe: `${LETTERS}-_`,
  symbols: `${LETTERS}-._~!*+,=`,
};

export type Encoding = 'hex' | 'base64' | 'base64url';
export type Charset = 'alphanumeric' | 'urlsafe' | 'symbols';

const encodings = Object.keys(ENCODED) as Encoding[];
const charsets = Object.keys(alphabets) as Charset[];
const KEYS_MAX = 64;
const byRules = annotate({ 'x-rules': true });
/** Numbers and names of forms: no credential. */
const plain = annotate({ 'x-rules': true, 'x-quoted': true });

export const generateSchema = Type.Object(
  {
    keys: Type.Optional(Type.Array(Type.String(byRules), { minItems: 1, maxItems: KEYS_MAX, ...byRules })),
    bytes: Type.Optional(Type.Integer({ minimum: 1, ...plain })),
    encoding: Type.Optional(Type.Enum(encodings, { type: 'string', ...plain })),
    length: Type.Optional(Type.Integer({ minimum: 1, ...plain })),
    charset: Type.Optional(Type.Enum(charsets, { type: 'string', ...plain })),
  },
  {
    additionalProperties: false,
    ...annotate({
      'x-transient': true,
      'x-expected': 'an object with keys, and bytes and encoding or length and charset',
    }),
  },
);

/** A generate block as a client sends it, once the rules have passed it. */
export type GenerateInput = Static<typeof generateSchema>;

/** How one value is made, with every default filled in. */
export type Generation = { readonly keys: readonly string[] } & (
  | { readonly by: 'bytes'; readonly bytes: number; readonly encoding: Encoding }
  | { readonly by: 'characters'; readonly length: number; readonly charset: Charset }
);

/** What a sound block asks for. */
export function toGeneration(block: GenerateInput, limits: SecretLimits): Generation {
  const { keys = [], bytes = limits.bytesDefault, encoding = 'base64url', length, charset = 'alphanumeric' } = block;
  return length === undefined ? { keys, by: 'bytes', bytes, encoding } : { keys, by: 'characters', length, charset };
}

/** A block of which nothing is known yet. */
type Loose = { readonly [Part in keyof GenerateInput]?: unknown };

const keysAreThere = rule('secret_generate_keys_required', ({ keys }: Loose, at, refuse) =>
  Array.isArray(keys) && keys.length > 0 ? undefined : refuse(at.child('keys'), keys),
);

const keysAreKeys = rule('secret_key_invalid', ({ keys }: Loose, at, refuse) =>
  toList(keys).flatMap((key, position) =>
    typeof key === 'string' && isSecretKey(key) ? [] : refuse(at.child('keys').index(position), key),
  ),
);

const keysAreDistinct = rule('secret_generate_key_duplicate', ({ keys }: Loose, at, refuse) => {
  const seen = new Set<unknown>();
  return toList(keys).flatMap((key, position) => {
    const isRepeated = seen.has(key);
    seen.add(key);
    return isRepeated ? refuse(at.child('keys').index(position), key) : [];
  });
});

const oneAxis = rule('secret_generate_axis_conflict', (block: Loose, at, refuse) =>
  isByBytes(block) && isByCharacters(block) ? refuse(at, block) : undefined,
);

const encodingIsKnown = rule('secret_generate_encoding_unknown', ({ encoding }: Loose, at, refuse) =>
  encoding === undefined || encodings.some(known => known === encoding)
    ? undefined
    : refuse(at.child('encoding'), encoding, { known: encodings }),
);

const charsetIsKnown = rule('secret_generate_charset_unknown', ({ charset }: Loose, at, refuse) =>
  charset === undefined || charsets.some(known => known === charset)
    ? undefined
    : refuse(at.child('charset'), charset, { known: charsets }),
);

const bytesInRange = rule(
  'secret_generate_bytes_out_of_range',
  (block: Loose, at, refuse, { limits }: MaterialContext) => {
    if (isByCharacters(block)) return undefined;
    const { bytes = limits.secrets.bytesDefault } = block;
    const range = bytesRange(block.encoding, limits.secrets);
    const within = Number.isInteger(bytes) && (bytes as number) >= range.min && (bytes as number) <= range.max;
    return within ? undefined : refuse(at.child('bytes'), bytes, range);
  },
);

/** The range that meets the floor of chance and stays under the ceiling of the encoding. */
function bytesRange(encoding: unknown, limits: SecretLimits): { min: number; max: number } {
  const encoded = ENCODED[encodings.find(known => known === encoding) ?? 'base64url'];
  const min = Math.max(limits.bytesMin, Math.ceil(limits.entropyFloor / 8));
  let max = limits.bytesMax;
  while (max > min && encoded(max) > limits.encodedMax) max -= 1;
  return { min, max };
}

const lengthInRange = rule(
  'secret_generate_length_out_of_range',
  (block: Loose, at, refuse, { limits }: MaterialContext) => {
    if (!isByCharacters(block) || isByBytes(block)) return undefined;
    const { length } = block;
    const max = limits.secrets.lengthMax;
    const within = Number.isInteger(length) && (length as number) >= 1 && (length as number) <= max;
    return within ? undefined : refuse(at.child('length'), length, { max });
  },
);

const lengthMeetsFloor = rule(
  'secret_generate_below_entropy_floor',
  (block: Loose, at, refuse, { limits }: MaterialContext) => {
    const { length, charset = 'alphanumeric' } = block;
    const alphabet = alphabets[charset as Charset] as string | undefined;
    if (typeof length !== 'number' || isByBytes(block) || alphabet === undefined) return undefined;
    const bits = limits.secrets.entropyFloor;
    const least = Math.ceil(bits / Math.log2(alphabet.length));
    return length >= least ? undefined : refuse(at.child('length'), length, { bits, least });
  },
);

function isByBytes({ bytes, encoding }: Loose): boolean {
  return bytes !== undefined || encoding !== undefined;
}

function isByCharacters({ length, charset }: Loose): boolean {
  return length !== undefined || charset !== undefined;
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** In the order a client should learn of them. */
export const generateRules: readonly Rule<never, MaterialContext>[] = [
  keysAreThere,
  keysAreKeys,
  keysAreDistinct,
  oneAxis,
  encodingIsKnown,
  bytesInRange,
  charsetIsKnown,
  lengthInRange,
  lengthMeetsFloor,
];
