import type { StoredDeployment } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Cache, value } from '../../pkg/store/index.js';

/** Replicas by the id of the node they are on. */
export const REPLICAS_BY_NODE = 'fleet.replicas-by-node';

/** Nodes by id. */
export const NODES_BY_ID = 'fleet.nodes-by-id';

/** Deployments by the tenant and name of each deployment that they keep apart from, as `<tenant>/<name>`. */
export const AVOIDERS = 'fleet.avoiders';

const ANTI_AFFINITY = Buffer.from('"antiAffinity":');
const defined = new WeakSet<Cache>();

/** Files what placement looks up. To be called before the cache is fed, by everybody who uses this package. */
export function defineFleetIndexes(cache: Cache): void {
  if (defined.has(cache)) return;
  defined.add(cache);
  cache.defineIndex(REPLICAS_BY_NODE, ranges.replicas, entry => {
    const { nodeId } = value<Replica>(entry);
    return nodeId === undefined ? [] : [nodeId];
  });
  cache.defineIndex(NODES_BY_ID, ranges.nodes, entry => [value<StoredNode>(entry).id]);
  cache.defineIndex(AVOIDERS, ranges.deployments, entry => {
    // Every new deployment passes here, and hardly one keeps apart from others: those are not parsed for it.
    if (!entry.bytes.includes(ANTI_AFFINITY)) return [];
    const { metadata, placement } = value<StoredDeployment>(entry);
    return (placement?.antiAffinity?.deployments ?? []).map(name => `${metadata.tenant}/${name}`);
  });
}
