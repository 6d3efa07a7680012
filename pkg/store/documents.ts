import type { Entry } from './entry.js';
import { ConflictFault, MissingFault } from './faults.js';
import type { Guard, Store, Verdict } from './store.js';

/**
 * The document of an entry. It is parsed when it is first asked for and shared by all who ask, so it must not
 * be changed. Of a record that cannot be worked with it is a substitute: `findRecordFault` says so.
 */
export function value<T>(entry: Entry): T {
  return entry.document as T;
}

/** What is wrong with the record of an entry, for people; undefined when it can be worked with. */
export function findRecordFault(entry: Entry): string | undefined {
  return entry.fault;
}

/** The bytes of the document that `value` gives. */
export function toSoundBytes(entry: Entry): Buffer {
  return entry.fault === undefined ? entry.bytes : encode(value(entry));
}

/** The document at a key of the cache. Undefined when there is none. */
export function readValue<T>(cache: { get(key: string): Entry | undefined }, key: string): T | undefined {
  const entry = cache.get(key);
  return entry && value<T>(entry);
}

/** The documents below a prefix of the cache, in key order. */
export function listValues<T>(cache: { list(prefix: string): readonly Entry[] }, prefix: string): readonly T[] {
  return cache.list(prefix).map(entry => value<T>(entry));
}

/** The bytes that stand for a document in the store. */
export function encode(document: unknown): Buffer {
  return Buffer.from(JSON.stringify(document));
}

/** Creates a document. Not stored when the key exists or a further guard does not hold. */
export function create(store: Store, key: string, document: unknown, guards: readonly Guard[] = []): Promise<Verdict> {
  return store.commit({ guards: [{ key, at: 0 }, ...guards], puts: [{ key, bytes: encode(document) }], deletes: [] });
}

/** Replaces exactly the entry that was read. Not stored when the key has changed since. */
export function replace(store: Store, seen: Entry, document: unknown, guards: readonly Guard[] = []): Promise<Verdict> {
  return store.commit({
    guards: [{ key: seen.key, at: seen.revision }, ...guards],
    puts: [{ key: seen.key, bytes: encode(document) }],
    deletes: [],
  });
}

/** Deletes exactly the entry that was read. Not stored when the key has changed since. */
export function remove(store: Store, seen: Entry, guards: readonly Guard[] = []): Promise<Verdict> {
  return store.commit({ guards: [{ key: seen.key, at: seen.revision }, ...guards], puts: [], deletes: [seen.key] });
}

const ATTEMPTS = 5;

/**
 * Changes one stored document, starting again from a fresh read whenever another write came first.
 *
 * `change` may run several times, so it must be pure. When it returns the document it was given, nothing is written:
 * a reconciler that finds nothing to change causes no event and wakes no loop.
 */
export async function update<T>(store: Store, key: string, change: (current: T) => T): Promise<T> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const seen = await store.get(key);
    if (!seen) throw new MissingFault(key);

    const current = value<T>(seen);
    const next = change(current);
    if (next === current) return current;

    const verdict = await replace(store, seen, next);
    if (verdict.stored) return next;
  }
  throw new ConflictFault(key, ATTEMPTS);
}
