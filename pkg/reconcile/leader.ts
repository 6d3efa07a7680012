import { keys } from '../../crds/keys/index.js';
import type { Clock } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, type Change, encode, type Guard, type LeaderRecord, type Store, value } from '../store/index.js';
import { type LoopEnv, PreconditionFault } from './loop.js';

/** What a leader needs to write. */
export interface LeaderContext {
  readonly store: Store;
  readonly cache: Cache;
  /** The create revision of the leader key: a change with this among its guards is the leader's or is not made. */
  readonly fence: Guard;
  /** Aborted when leadership is given up. */
  readonly lost: AbortSignal;
}

/** The `commit` of a loop: made by the leader only, and seen in the cache before it resolves. */
export function createFencedCommit({ store, cache, fence }: LeaderContext): LoopEnv['commit'] {
  return async (change: Change) => {
    const verdict = await store.commit({ ...change, guards: [...change.guards, fence] });
    if (!verdict.stored)
      throw new PreconditionFault('an object that the decision was based on has changed, or another process leads');
    await cache.reached(verdict.revision);
  };
}

const AT_MOST_EVERY_MS = 15_000;

/**
 * Notes in the leader's record when the loop last reconciled something, for the health page.
 *
 * At most every 15 seconds, and never while there is nothing to do: an idle loop writes nothing.
 */
export function createLeaderNote(loop: string, leader: LeaderContext, clock: Clock, log: Logger): () => void {
  const key = keys.leader(loop);
  let notBefore = 0;

  const note = async () => {
    const entry = leader.cache.get(key);
    if (!entry || leader.lost.aborted) return;
    const record = value<LeaderRecord>(entry);
    await leader.store.commit({
      guards: [{ key, at: entry.revision }, leader.fence],
      puts: [
        {
          key,
          bytes: encode({ ...record, lastReconcileAt: new Date(clock.now()).toISOString() }),
          lease: record.lease,
        },
      ],
      deletes: [],
    });
  };

  return () => {
    if (clock.monotonic() < notBefore) return;
    notBefore = clock.monotonic() + AT_MOST_EVERY_MS;
    note().catch((thrown: unknown) => log.debug('a leader could not note its work', { error: asError(thrown) }));
  };
}
