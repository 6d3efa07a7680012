import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Cache, type Entry, value } from '../store/index.js';

/** Replicas by the id of the node they are assigned to. */
export const REPLICAS_BY_NODE = 'desk.replicas-by-node';

/** Replicas by uid. */
export const REPLICAS_BY_UID = 'desk.replicas-by-uid';

/** Files what the desk looks up. To be called once, before the cache is fed. */
export function defineDeskIndexes(cache: Cache): void {
  cache.defineIndex(REPLICAS_BY_NODE, ranges.replicas, entry => {
    const { nodeId } = replicaOf(entry);
    return nodeId === undefined ? [] : [nodeId];
  });
  cache.defineIndex(REPLICAS_BY_UID, ranges.replicas, entry => [replicaOf(entry).uid]);
}

/** The replica that an entry of that range holds. */
export function replicaOf(entry: Entry): Replica {
  return value<Replica>(entry);
}
