import { SecretDocumentFault, UnreadableSecretFault } from './faults.js';
import { Secret } from './secret.js';
import type { SecretDocument, SecretStore } from './secret-store.js';
import type { CredentialPath } from './credential-path.js';

/** How large a document may be. */
export interface DocumentLimits {
  readonly valueBytes: number;
  readonly documentBytes: number;
  readonly keys: number;
}

/** The limits of the contract. */
export const documentLimits: DocumentLimits = { valueBytes: 65_536, documentBytes: 262_144, keys: 64 };

/** A document of plain values, taken out of a request. */
export function documentOf(values: Readonly<Record<string, string>>): SecretDocument {
  return new Map(Object.entries(values).map(([key, value]) => [key, new Secret(value)]));
}

/** Throws unless the document can be kept. Names no key and no value. */
export function checkDocument(document: SecretDocument, limits: DocumentLimits): void {
  if (document.size === 0) throw new SecretDocumentFault('a secret document holds no key');
  if (document.size > limits.keys) throw new SecretDocumentFault(`a secret document holds over ${limits.keys} keys`);
  let total = 0;
  for (const [key, { size }] of document) {
    if (size > limits.valueBytes) throw new SecretDocumentFault(`a secret value is over ${limits.valueBytes} bytes`);
    total += Buffer.byteLength(key) + size;
  }
  if (total > limits.documentBytes) {
    throw new SecretDocumentFault(`a secret document is over ${limits.documentBytes} bytes`);
  }
}

/** The document with its values in clear, as an object of strings: for a request body or for sealing, and nothing else. */
export function revealDocument(document: SecretDocument): Record<string, string> {
  return Object.fromEntries([...document].map(([key, secret]) => [key, secret.reveal()]));
}

/**
 * The document that a store gave back. Numbers and booleans, which only people write who fill the store by hand, become
 * their text; anything deeper is no environment variable, and the whole document is refused.
 */
export function readDocument(given: unknown): SecretDocument {
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

/** Whether two documents hold the same keys with the same values. */
export function sameDocument(one: SecretDocument, other: SecretDocument): boolean {
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
export async function keysOf(store: SecretStore, path: CredentialPath, version?: number): Promise<KeyReading> {
  const reading = await store.read(path, version);
  if (reading.kind !== 'found') return reading;
  return { kind: 'found', version: reading.version, keys: [...reading.document.keys()].sort() };
}
