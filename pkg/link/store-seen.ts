import { isDeepStrictEqual } from 'node:util';

import { ConflictFault, encode, type Entry, readValue } from '../store/index.js';
import type { DispatcherEnv } from './dispatcher-env.js';

const ATTEMPTS = 5;

/** What an agent has seen of one object, and where that is stored. */
export interface AgentObservation {
  readonly key: string;
  /** Without the time: what is reported again is not written again. */
  readonly seen: object;
  /** The object itself, which must not have been deleted meanwhile. */
  readonly of: Entry;
}

/** Stores what an agent has seen, when that is news. `find` is asked again after a conflict; undefined: it is passed over. */
export async function storeObservation(
  env: DispatcherEnv,
  id: string,
  find: () => AgentObservation | undefined,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const sighting = find();
    if (!sighting) return;
    const { key, seen, of } = sighting;
    const { at: _, ...held } = readValue<{ readonly at: string }>(env.cache, key) ?? { at: '' };
    if (isDeepStrictEqual(held, seen)) return;
    const { stored } = await env.store.commit({
      guards: [
        { key, at: env.cache.get(key)?.revision ?? 0 },
        { key: of.key, created: of.created },
      ],
      puts: [{ key, bytes: encode({ ...seen, at: new Date(env.clock.now()).toISOString() }) }],
      deletes: [],
    });
    if (stored) return;
    await env.cache.barrier();
  }
  throw new ConflictFault(id, ATTEMPTS);
}
