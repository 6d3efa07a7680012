import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Cache, value } from '../../pkg/store/index.js';

/** Replicas by the id of the node they are on. */
export const REPLICAS_BY_NODE = 'controllers.replicas-by-node';

/** Replicas that wait for a node, by tenant. */
export const REPLICAS_WAITING = 'controllers.replicas-waiting';

/** Nodes by id. */
export const NODES_BY_ID = 'controllers.nodes-by-id';

/** Whether the scheduler still has to find a node for the replica. */
export function isWaiting(replica: Replica): boolean {
  return replica.nodeId === undefined && replica.retiringSince === undefined;
}

/** Files what the loops look up. To be called once, before the cache is fed. */
export function defineIndexes(cache: Cache): void {
  cache.defineIndex(REPLICAS_BY_NODE, ranges.replicas, entry => {
    const { nodeId } = value<Replica>(entry);
    return nodeId === undefined ? [] : [nodeId];
  });
  cache.defineIndex(REPLICAS_WAITING, ranges.replicas, entry => {
    const replica = value<Replica>(entry);
    return isWaiting(replica) ? [replica.tenant] : [];
  });
  cache.defineIndex(NODES_BY_ID, ranges.nodes, entry => [value<StoredNode>(entry).id]);
}
