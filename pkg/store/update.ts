import { ConflictFault, MissingFault } from './faults.js';
import type { Store } from './store.js';
import { value } from './value.js';
import { replace } from './write.js';

const ATTEMPTS = 5;

/**
 * Changes one stored document, starting again from a fresh read whenever somebody else wrote first.
 *
 * `change` may run several times, so it must be pure. Returning the document it was given means that nothing
 * needs saying, and nothing is written: a reconciler that finds the world as it should be leaves no trace and
 * wakes nobody.
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
