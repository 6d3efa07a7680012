import type { Entry } from './store.js';

const parsed = new WeakMap<Entry, unknown>();

/**
 * The document of an entry. It is parsed when it is first asked for and shared by all who ask, so it must not
 * be changed.
 */
export function value<T>(entry: Entry): T {
  let document = parsed.get(entry);
  if (document === undefined) {
    document = JSON.parse(entry.bytes.toString('utf8')) as unknown;
    parsed.set(entry, document);
  }
  return document as T;
}

/** The bytes that stand for a document in the store. */
export function encode(document: unknown): Buffer {
  return Buffer.from(JSON.stringify(document));
}
