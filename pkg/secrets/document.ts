import { alphabets, type Generation, type SecretLimits } from '../../crds/secret/index.js';
import type { Random } from '../clock/index.js';
import type { CredentialPath } from './credential-path.js';
import { SecretDocumentFault, UnreadableSecretFault } from './faults.js';
import type { Forbidden, Missing, SecretDocument, SecretStore } from './secret-store.js';
import { Secret } from './secret.js';

/** Wraps the plain values of a request. */
export function toSecretDocument(values: Readonly<Record<string, string>>): SecretDocument {
  return new Map(Object.entries(values).map(([key, value]) => [key, new Secret(value)]));
}

/** Throws unless the document is within the limits. The fault names no key and no value. */
export function checkDocument(document: SecretDocument, limits: SecretLimits): void {
  const violation = describeViolation(document, limits);
  if (violation !== undefined) throw new SecretDocumentFault(violation);
}

export function isStorable(document: SecretDocument, limits: SecretLimits): boolean {
  return describeViolation(document, limits) === undefined;
}

function describeViolation(document: SecretDocument, limits: SecretLimits): string | undefined {
  if (document.size === 0) return 'a secret document has no key';
  if (document.size > limits.keysMax) return `a secret document has more than ${limits.keysMax} keys`;
  let total = 0;
  for (const [key, { size }] of document) {
    if (size > limits.valueMax) return `a secret value has more than ${limits.valueMax} bytes`;
    total += Buffer.byteLength(key) + size;
  }
  return total > limits.documentMax ? `a secret document has more than ${limits.documentMax} bytes` : undefined;
}

/** The plain values, for a request body or for sealing only. */
export function revealDocument(document: SecretDocument): Record<string, string> {
  return Object.fromEntries([...document].map(([key, secret]) => [key, secret.reveal()]));
}

/**
 * Parses a document read from a store. Numbers and booleans, which operators may have written by hand, become text;
 * nested values cannot be environment variables, so they refuse the whole document.
 */
export function parseSecretDocument(given: unknown): SecretDocument {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new UnreadableSecretFault('a stored secret is not an object of keys and values');
  }
  return new Map(Object.entries(given).map(([key, value]) => [key, new Secret(toText(value))]));
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new UnreadableSecretFault('a stored secret has a value that is neither text, number nor boolean');
}

/**
 * Encodes the document for sealing: a line of JSON with each key and the size of its value, then the values. Unlike JSON,
 * this does not grow with escapes, so a sealed document stays within the limits.
 */
export function packDocument(document: SecretDocument): Buffer {
  const values = Object.entries(revealDocument(document)).map(([key, value]) => [key, Buffer.from(value)] as const);
  const contents = JSON.stringify(values.map(([key, { length }]) => [key, length]));
  return Buffer.concat([Buffer.from(`${contents}\n`), ...values.map(([, bytes]) => bytes)]);
}

export function unpackDocument(packed: Buffer): SecretDocument {
  let from = packed.indexOf('\n') + 1;
  const contents = JSON.parse(packed.toString('utf8', 0, from)) as readonly (readonly [string, number])[];
  return new Map(
    contents.map(([key, size]) => [key, new Secret(packed.toString('utf8', from, (from += size)))] as const),
  );
}

export function isSameDocument(one: SecretDocument, other: SecretDocument): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([key, secret]) => other.get(key)?.equals(secret) ?? false);
}

/** The names of the keys of a version, without their values. */
export type KeyReading =
  | { readonly kind: 'found'; readonly version: number; readonly keys: readonly string[] }
  | Missing
  | Forbidden;

/**
 * Reads the names of a version's keys. It reads the whole document as delivery does, so it meets the same permission and
 * integrity errors, and discards the values.
 */
export async function readKeyNames(store: SecretStore, path: CredentialPath, version?: number): Promise<KeyReading> {
  const reading = await store.read(path, version);
  if (reading.kind !== 'found') return reading;
  return { kind: 'found', version: reading.version, keys: [...reading.document.keys()].sort() };
}

const BYTE_VALUES = 256;

/** Generates a value for each key. `random` must be cryptographically secure. */
export function generateDocument(generation: Generation, random: Random): SecretDocument {
  return new Map(generation.keys.map(key => [key, generateSecret(generation, random)]));
}

function generateSecret(generation: Generation, random: Random): Secret {
  if (generation.by === 'bytes') return new Secret(random.bytes(generation.bytes).toString(generation.encoding));
  return new Secret(drawCharacters(alphabets[generation.charset], generation.length, random));
}

/**
 * Draws characters uniformly. A byte beyond the last whole multiple of the alphabet is rejected: taking it modulo the
 * alphabet would favour the first characters.
 */
function drawCharacters(alphabet: string, length: number, random: Random): string {
  const rounds = BYTE_VALUES - (BYTE_VALUES % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random.bytes(length - text.length)) if (byte < rounds) text += alphabet[byte % alphabet.length];
  }
  return text;
}
