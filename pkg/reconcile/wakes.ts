import type { Cache, CacheChange, Entry } from '../store/index.js';
import type { Wake } from './loop.js';

/** Calls `add` for each key that a change wakes, until the returned function is called. */
export function wakeOnChanges(wakes: readonly Wake[], cache: Cache, add: (key: string) => void): () => void {
  return cache.subscribe(change => {
    for (const wake of wakes) {
      if (change.key.startsWith(wake.prefix)) wake.keys(change, cache).forEach(add);
    }
  });
}

/**
 * Calls `add` for each key that anything now stored would wake if it had just appeared.
 *
 * A new leader begins with this: it cannot know what its predecessor had still to do.
 */
export function wakeForAll(wakes: readonly Wake[], cache: Cache, add: (key: string) => void): void {
  for (const wake of wakes) {
    for (const entry of cache.list(wake.prefix)) wake.keys(appeared(entry), cache).forEach(add);
  }
}

function appeared(entry: Entry): CacheChange {
  return { key: entry.key, revision: entry.revision, position: 0, entry, previous: undefined };
}
