import { keys, ranges } from '../../crds/keys/index.js';
import type { SeenNetwork, StoredNetwork } from '../../crds/network/index.js';
import { type Entry, value } from '../store/index.js';
import type { NodeIdentity } from './agent-link.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import { storeObservation } from './store-seen.js';

/** The networks of a node. */
export function listNetworksOf(
  { cache }: Pick<DispatcherEnv, 'cache'>,
  { tenant, id }: NodeIdentity,
): readonly Entry[] {
  return cache.list(ranges.of(ranges.networks, tenant)).filter(entry => value<StoredNetwork>(entry).nodeId === id);
}

/**
 * Stores what an agent says of networks of its own node, each guarded by the existence of the network. What it says of any other
 * is passed over, so that an agent cannot find out which networks exist.
 */
export async function storeNetworkReports(
  env: DispatcherEnv,
  node: NodeIdentity,
  networks: readonly SeenNetwork[],
): Promise<void> {
  await env.cache.barrier();
  for (const seen of networks) {
    await storeObservation(env, seen.uid, () => {
      const own = listNetworksOf(env, node).find(entry => value<StoredNetwork>(entry).metadata.uid === seen.uid);
      return own && { key: keys.networkReport(node.tenant, value<StoredNetwork>(own).name), seen, of: own };
    });
  }
}
