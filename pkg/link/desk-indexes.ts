import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { defineFleetIndexes } from '../fleet/index.js';
import { type Cache, type Entry, value } from '../store/index.js';

/** Replicas by uid. */
export const REPLICAS_BY_UID = 'desk.replicas-by-uid';

/** Files what the desk looks up. To be called once, before the cache is fed. */
export function defineDeskIndexes(cache: Cache): void {
  defineFleetIndexes(cache);
  cache.defineIndex(REPLICAS_BY_UID, ranges.replicas, entry => [replicaOf(entry).uid]);
}

/** The replica that an entry of that range holds. */
export function replicaOf(entry: Entry): Replica {
  return value<Replica>(entry);
}
