import type { Cache, Change, Guard, Store } from '../store/index.js';
import { OutrunFault } from './faults.js';
import type { LoopEnv } from './loop.js';

/** What a leader needs to write. */
export interface Office {
  readonly store: Store;
  readonly cache: Cache;
  /** The create revision of the leader key: a change with this among its guards is the leader's or is not made. */
  readonly fence: Guard;
  /** Aborted when leadership is given up. */
  readonly lost: AbortSignal;
}

/** The `commit` of a loop: made by the leader only, and seen in the cache before it resolves. */
export function fencedCommit({ store, cache, fence }: Office): LoopEnv['commit'] {
  return async (change: Change) => {
    const verdict = await store.commit({ ...change, guards: [...change.guards, fence] });
    if (!verdict.stored) throw new OutrunFault('what was decided on has changed');
    await cache.reached(verdict.revision);
  };
}
