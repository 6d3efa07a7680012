import { keys } from '../../crds/keys/index.js';
import type { Clock } from '../clock/index.js';
import type { Keyring } from '../auth/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, encode, readValue, type Store } from '../store/index.js';
import { readRestoreEpoch } from './restore-epoch.js';

/** A place in the history of the store: within one restore epoch its revision only rises. */
export interface StorePosition {
  readonly revision: number;
  /** 0 where no restore was ever declared. */
  readonly restoreEpoch: number;
}

/** A position with the proof that a server has shown it: who has seen it can say so to a store that does not have it any more. */
export interface ProvenPosition extends StorePosition {
  readonly proof: string;
}

/** `set-back`: an agent, or a server, has proven that the store is older than it was. It counts until the restore is declared. */
export interface SetBackRecord extends StorePosition {
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
export function wasSetBack(seen: StorePosition, shown: StorePosition): boolean {
  if (shown.restoreEpoch !== seen.restoreEpoch) return shown.restoreEpoch < seen.restoreEpoch;
  return shown.revision < seen.revision || shown.revision - seen.revision >= BUMPED;
}

/** The position that a cache shows. */
export function readStorePosition(cache: Cache): StorePosition {
  return { revision: cache.revision, restoreEpoch: readRestoreEpoch(cache) ?? 0 };
}

export function provePosition(position: StorePosition, keyring: Pick<Keyring, 'digest'>): ProvenPosition {
  return { ...position, proof: keyring.digest(toProvenText(position)) };
}

function toProvenText({ restoreEpoch, revision }: StorePosition): string {
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
export async function judgeSeen(env: HistoryEnv, { proof, ...seen }: ProvenPosition): Promise<void> {
  if (isSetBack(env.cache) || !env.keyring.matches(toProvenText(seen), proof)) return;
  await noteSetBack(env, seen);
}

/** Writes down, once, that the store is older than it was seen: agents that come back later are to know it too. */
export async function noteSetBack({ store, cache, clock, log }: HistoryEnv, seen: StorePosition): Promise<void> {
  await cache.barrier();
  const shown = readStorePosition(cache);
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
