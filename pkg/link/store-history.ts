import { keys } from '../../crds/keys/index.js';
import type { Clock } from '../clock/index.js';
import type { Keyring } from '../auth/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, encode, readValue, type Store } from '../store/index.js';
import { readRestoreEpoch } from './restore-epoch.js';

/** A place in the history of the store: within one restore epoch its revision only rises. */
export interface StoreMoment {
  readonly revision: number;
  /** 0 where no restore was ever declared. */
  readonly restoreEpoch: number;
}

/** A moment with the proof that a server has shown it: who has seen it can say so to a store that does not know of it any more. */
export interface ProvenMoment extends StoreMoment {
  readonly proof: string;
}

/** `set-back`: an agent, or a server, has proven that the store is older than it was. It counts until the restore is declared. */
export interface SetBackRecord extends StoreMoment {
  /** The revision that the store was found at. `revision` is the one that it had been at. */
  readonly found: number;
  readonly at: string;
}

/**
 * How far the revision of a restored store is raised on purpose (`etcdutl --bump-revision 1000000000`), less what may have been written
 * before that was seen. No store that goes on gets so far between two looks.
 */
const BUMPED = 900_000_000;

/** Whether a store that shows `shown` has lost history that was seen before, and no restore was declared since. */
export function wasSetBack(seen: StoreMoment, shown: StoreMoment): boolean {
  if (shown.restoreEpoch !== seen.restoreEpoch) return shown.restoreEpoch < seen.restoreEpoch;
  return shown.revision < seen.revision || shown.revision - seen.revision >= BUMPED;
}

/** The moment that a cache shows. */
export function readMoment(cache: Cache): StoreMoment {
  return { revision: cache.revision, restoreEpoch: readRestoreEpoch(cache) ?? 0 };
}

export function proveMoment(moment: StoreMoment, keyring: Pick<Keyring, 'digest'>): ProvenMoment {
  return { ...moment, proof: keyring.digest(toProvenText(moment)) };
}

function toProvenText({ restoreEpoch, revision }: StoreMoment): string {
  return ['mooring-store-moment', String(restoreEpoch), String(revision)].join('\n');
}

/** Whether the store is known to have been set back, and that was not declared yet. */
export function isSetBack(cache: Cache): boolean {
  const record = readValue<SetBackRecord>(cache, keys.setBack());
  return record !== undefined && record.restoreEpoch >= (readRestoreEpoch(cache) ?? 0);
}

interface HistoryEnv {
  readonly store: Store;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly log: Logger;
}

/** Takes what an agent has seen of the store: believed only with the proof of a server. */
export async function judgeSeen(env: HistoryEnv, { proof, ...seen }: ProvenMoment): Promise<void> {
  if (isSetBack(env.cache) || !env.keyring.matches(toProvenText(seen), proof)) return;
  await noteSetBack(env, seen);
}

/** Writes down, once, that the store is older than it was seen: agents that come back later are to know it too. */
export async function noteSetBack({ store, cache, clock, log }: HistoryEnv, seen: StoreMoment): Promise<void> {
  await cache.barrier();
  const shown = readMoment(cache);
  if (isSetBack(cache) || !wasSetBack(seen, shown)) return;
  const key = keys.setBack();
  const record: SetBackRecord = {
    revision: seen.revision,
    restoreEpoch: Math.max(seen.restoreEpoch, shown.restoreEpoch),
    found: shown.revision,
    at: new Date(clock.now()).toISOString(),
  };
  const guards = [{ key, at: cache.get(key)?.revision ?? 0 }];
  const verdict = await store.commit({ guards, puts: [{ key, bytes: encode(record) }], deletes: [] });
  if (!verdict.stored) return; // another server was first, or the next heartbeat is
  log.error(
    'etcd was set back to an older state: agents change nothing until that is declared ("moor admin restore"), or the newest state is restored; "moor admin restore --preview" shows what would go',
    { revision: seen.revision },
  );
  await cache.reached(verdict.revision);
}
