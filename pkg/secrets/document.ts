import { alphabets, type Generation, type SecretLimits } from '../../crds/secret/index.js';
import type { Random } from '../clock/index.js';
import type { CredentialPath } from './credential-path.js';
import { SecretDocumentFault, UnreadableSecretFault } from './faults.js';
import type { SecretDocument, SecretStore } from './secret-store.js';
import { Secret } from './secret.js';

/** A document of plain values, taken out of a request. */
export function toSecretDocument(values: Readonly<Record<string, string>>): SecretDocument {
  return new Map(Object.entries(values).map(([key, value]) => [key, new Secret(value)]));
}

/** Throws unless the document can be kept. Names no key and no value. */
export function checkDocument(document: SecretDocument, limits: SecretLimits): void {
  const fault = faultOf(document, limits);
  if (fault !== undefined) throw new SecretDocumentFault(fault);
}

/** Whether a store would keep the document. */
export function isStorable(document: SecretDocument, limits: SecretLimits): boolean {
  return faultOf(document, limits) === undefined;
}

function faultOf(document: SecretDocument, limits: SecretLimits): string | undefined {
  if (document.size === 0) return 'a secret document holds no key';
  if (document.size > limits.keysMax) return `a secret document holds over ${limits.keysMax} keys`;
  let total = 0;
  for (const [key, { size }] of document) {
    if (size > limits.valueMax) return `a secret value is over ${limits.valueMax} bytes`;
    total += Buffer.byteLength(key) + size;
  }
  return total > limits.documentMax ? `a secret document is over ${limits.documentMax} bytes` : undefined;
}

/** The document with its values in clear, as an object of strings: for a request body or for sealing, and nothing else. */
export function revealDocument(document: SecretDocument): Record<string, string> {
  return Object.fromEntries([...document].map(([key, secret]) => [key, secret.reveal()]));
}

/**
 * The document that a store gave back. Numbers and booleans, which only people write who fill the store by hand, become
 * their text; anything deeper is no environment variable, and the whole document is refused.
 */
export function parseSecretDocument(given: unknown): SecretDocument {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new UnreadableSecretFault('a stored secret is not a document of keys and values');
  }
  return new Map(Object.entries(given).map(([key, value]) => [key, new Secret(textOf(value))]));
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new UnreadableSecretFault('a stored secret holds a value that is neither text, number nor boolean');
}

/**
 * The document as bytes to be sealed: a line of JSON with each key and the size of its value, then the values. So a
 * sealed document is never larger than its limits say, whatever characters it is made of.
 */
export function packDocument(document: SecretDocument): Buffer {
  const values = Object.entries(revealDocument(document)).map(([key, value]) => [key, Buffer.from(value)] as const);
  const contents = JSON.stringify(values.map(([key, { length }]) => [key, length]));
  return Buffer.concat([Buffer.from(`${contents}\n`), ...values.map(([, bytes]) => bytes)]);
}

/** The document that `packDocument` packed. */
export function unpackDocument(packed: Buffer): SecretDocument {
  let from = packed.indexOf('\n') + 1;
  const contents = JSON.parse(packed.toString('utf8', 0, from)) as readonly (readonly [string, number])[];
  return new Map(
    contents.map(([key, size]) => [key, new Secret(packed.toString('utf8', from, (from += size)))] as const),
  );
}

/** Whether two documents hold the same keys with the same values. */
export function isSameDocument(one: SecretDocument, other: SecretDocument): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([key, secret]) => other.get(key)?.equals(secret) ?? false);
}

/** The names of the keys of a version, without their values. */
export type KeyReading =
  | { readonly kind: 'found'; readonly version: number; readonly keys: readonly string[] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'forbidden' };

/**
 * Which keys a version holds. It reads the document as delivery would, so that what it says of permission and integrity
 * is what delivery will meet, and lets the values go.
 */
export async function readKeyNames(store: SecretStore, path: CredentialPath, version?: number): Promise<KeyReading> {
  const reading = await store.read(path, version);
  if (reading.kind !== 'found') return reading;
  return { kind: 'found', version: reading.version, keys: [...reading.document.keys()].sort() };
}

const BYTE_VALUES = 256;

/** Bits of chance in one value that is made so. */
export function computeEntropy(generation: Generation): number {
  return generation.by === 'bytes'
    ? generation.bytes * Math.log2(BYTE_VALUES)
    : generation.length * Math.log2(alphabets[generation.charset].length);
}

/** A new value for each key, each drawn by itself. `random` must be the system's. */
export function generateDocument(generation: Generation, random: Random): SecretDocument {
  return new Map(generation.keys.map(key => [key, generateSecret(generation, random)]));
}

function generateSecret(generation: Generation, random: Random): Secret {
  if (generation.by === 'bytes') return new Secret(random.bytes(generation.bytes).toString(generation.encoding));
  return new Secret(drawn(alphabets[generation.charset], generation.length, random));
}

/**
 * Characters drawn evenly. A byte beyond the last whole round of the alphabet is thrown away: taking it modulo the
 * alphabet would favour the first characters.
 */
function drawn(alphabet: string, length: number, random: Random): string {
  const rounds = BYTE_VALUES - (BYTE_VALUES % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random.bytes(length - text.length)) if (byte < rounds) text += alphabet[byte % alphabet.length];
  }
  return text;
}
