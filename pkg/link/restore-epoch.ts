import { keys } from '../../crds/keys/index.js';
import type { Clock } from '../clock/index.js';
import { type Cache, ConflictFault, encode, readValue, type Store, value } from '../store/index.js';

/** What stands under the key of the restore epoch. */
export interface RestoreRecord {
  /** Agents accept an older generation of a slot than they have seen when this has risen. */
  readonly epoch: number;
  /** When the restore was declared. */
  readonly at: string;
  /** By the id of a node: the digest of what was shown of it. An agent of which more would go than was confirmed goes on holding. */
  readonly confirmed: Readonly<Record<string, string>>;
}

const ATTEMPTS = 5;

/**
 * Declares that the store was restored from a backup: raises the restore epoch. `confirmed` is what was shown to its administrator,
 * by node (`listConfirmed`).
 *
 * It is raised to the time of day at least, because a backup that is restored for the second time holds an old epoch again. To
 * declare a restore twice, or one that never was, does no harm: agents compare their containers with the store once more.
 */
export async function declareRestore(
  store: Store,
  clock: Clock,
  confirmed: RestoreRecord['confirmed'] = {},
): Promise<RestoreRecord> {
  const key = keys.restoreEpoch();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const stored = await store.get(key);
    const before = stored ? value<RestoreRecord>(stored).epoch : 0;
    const now = clock.now();
    const record: RestoreRecord = { epoch: Math.max(before + 1, now), at: new Date(now).toISOString(), confirmed };
    const guards = [{ key, at: stored?.revision ?? 0 }];
    if ((await store.commit({ guards, puts: [{ key, bytes: encode(record) }], deletes: [] })).stored) return record;
  }
  throw new ConflictFault(key, ATTEMPTS);
}

/** The restore epoch; undefined when no restore was ever declared. */
export function readRestoreEpoch(cache: Cache): number | undefined {
  return readValue<RestoreRecord>(cache, keys.restoreEpoch())?.epoch;
}

/** What of a node was confirmed with the last declaration; undefined where nothing was. */
export function readConfirmed(cache: Cache, nodeId: string): string | undefined {
  return readValue<RestoreRecord>(cache, keys.restoreEpoch())?.confirmed[nodeId];
}
