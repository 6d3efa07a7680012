import { keys, ranges } from '../../crds/keys/index.js';
import type { NetworkReport, SeenNetwork, StoredNetwork } from '../../crds/network/index.js';
import { ConflictFault, encode, type Entry, readValue, value } from '../store/index.js';
import type { NodeIdentity } from './agent-link.js';
import type { DispatcherEnv } from './dispatcher-env.js';

const ATTEMPTS = 5;

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
  for (const seen of networks) await storeReport(env, node, seen);
}

async function storeReport(env: DispatcherEnv, node: NodeIdentity, seen: SeenNetwork): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const own = listNetworksOf(env, node).find(entry => value<StoredNetwork>(entry).metadata.uid === seen.uid);
    if (!own) return;
    const { name } = value<StoredNetwork>(own);
    const key = keys.networkReport(node.tenant, name);
    const held = readValue<NetworkReport>(env.cache, key);
    if (held?.uid === seen.uid && held.state === seen.state && held.message === seen.message) return;
    const report: NetworkReport = { ...seen, at: new Date(env.clock.now()).toISOString() };
    const { stored } = await env.store.commit({
      guards: [
        { key, at: env.cache.get(key)?.revision ?? 0 },
        { key: own.key, created: own.created },
      ],
      puts: [{ key, bytes: encode(report) }],
      deletes: [],
    });
    if (stored) return;
    await env.cache.barrier();
  }
  throw new ConflictFault(seen.uid, ATTEMPTS);
}
