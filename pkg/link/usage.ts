import { keys, ranges } from '../../crds/keys/index.js';
import type { NodePresence, NodeUsage, ReplicaUsage } from '../../crds/node/index.js';
import { asError } from '../fault/index.js';
import { encode, readValue, value } from '../store/index.js';
import type { AgentIdentity } from './presence.js';
import type { DispatcherEnv } from './dispatcher-env.js';

/** How often the figures of a node are stored where no policy of the tenant needs them: for people who look. */
const FOR_PEOPLE_MS = 60_000;

/**
 * Stores what the containers of a node use, on the lease of the node: with each measurement where the tenant has a scaling policy,
 * once a minute otherwise. They are not worth a failed heartbeat.
 */
export async function recordUsage(
  { store, cache, clock, log }: DispatcherEnv,
  { tenant, name, id }: AgentIdentity,
  replicas: readonly ReplicaUsage[],
): Promise<void> {
  const key = keys.usage(tenant, name);
  const entry = cache.get(key);
  const presence = readValue<NodePresence>(cache, keys.alive(tenant, name));
  if (presence?.id !== id) return;
  const age = entry ? Math.abs(clock.now() - Date.parse(value<NodeUsage>(entry).at)) : Infinity;
  if (age < FOR_PEOPLE_MS && cache.list(ranges.of(ranges.scalingPolicies, tenant)).length === 0) return;

  const usage: NodeUsage = { id, at: new Date(clock.now()).toISOString(), replicas };
  try {
    const puts = [{ key, bytes: encode(usage), lease: presence.lease }];
    await store.commit({ guards: [{ key, at: entry?.revision ?? 0 }], puts, deletes: [] });
  } catch (thrown) {
    log.warn('could not store what the containers of a node use', { tenant, node: name, error: asError(thrown) });
  }
}
