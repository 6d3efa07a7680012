import type { Entry, Guard, Store, Verdict } from './store.js';
import { encode } from './value.js';

/** Writes where there was nothing. Refused when the key exists or a further guard does not hold. */
export function create(store: Store, key: string, document: unknown, guards: readonly Guard[] = []): Promise<Verdict> {
  return store.commit({ guards: [{ key, at: 0 }, ...guards], puts: [{ key, bytes: encode(document) }], deletes: [] });
}

/** Writes over exactly what was read. Refused when somebody else was first. */
export function replace(store: Store, seen: Entry, document: unknown, guards: readonly Guard[] = []): Promise<Verdict> {
  return store.commit({
    guards: [{ key: seen.key, at: seen.revision }, ...guards],
    puts: [{ key: seen.key, bytes: encode(document) }],
    deletes: [],
  });
}

/** Deletes exactly what was read. Refused when it has changed since. */
export function remove(store: Store, seen: Entry, guards: readonly Guard[] = []): Promise<Verdict> {
  return store.commit({ guards: [{ key: seen.key, at: seen.revision }, ...guards], puts: [], deletes: [seen.key] });
}
