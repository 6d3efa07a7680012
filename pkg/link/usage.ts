import {
  getRequest,
  getScalingTarget,
  isPolicyOf,
  type ScaledResource,
  scaledResources,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import type { NodePresence, NodeUsage, ReplicaUsage } from '../../crds/node/index.js';
import { asError } from '../fault/index.js';
import { readScaling } from '../fleet/index.js';
import { type Cache, encode, readValue, value } from '../store/index.js';
import { type DispatcherEnv, readReplica, REPLICAS_BY_UID } from './dispatcher-env.js';
import type { AgentIdentity } from './presence.js';

/** How often the figures of a node are stored although nothing has moved: for people who look. */
const FOR_PEOPLE_MS = 60_000;
/** The same where a policy needs them: the autoscaler uses none that is older than 75 seconds, and the next come within 20. */
const FOR_POLICIES_MS = 45_000;
/** A figure that has moved by so much of its target is stored at once: half of what the autoscaler tolerates. */
const NEWS = 0.05;

/**
 * Stores what the containers of a node use, on the lease of the node: no measurement as such, but figures that have moved so far
 * that a scaling policy could decide otherwise, and else at long intervals. They are not worth a failed heartbeat.
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
  const stored = entry && value<NodeUsage>(entry);
  const age = stored ? Math.abs(clock.now() - Date.parse(stored.at)) : Infinity;
  if (stored?.id === id && age < FOR_PEOPLE_MS && !isNeeded(cache, tenant, { stored, replicas, age })) return;

  const usage: NodeUsage = { id, at: new Date(clock.now()).toISOString(), replicas };
  try {
    const puts = [{ key, bytes: encode(usage), lease: presence.lease }];
    await store.commit({ guards: [{ key, at: entry?.revision ?? 0 }], puts, deletes: [] });
  } catch (thrown) {
    log.warn('could not store what the containers of a node use', { tenant, node: name, error: asError(thrown) });
  }
}

interface Figures {
  readonly stored: NodeUsage;
  readonly replicas: readonly ReplicaUsage[];
  readonly age: number;
}

/** Whether a scaling policy needs other figures than those that are stored. */
function isNeeded(cache: Cache, tenant: string, { stored, replicas, age }: Figures): boolean {
  const known = new Map(stored.replicas.map(each => [each.replica, each]));
  return replicas.some(used => {
    const steps = findSteps(cache, tenant, used.replica);
    if (steps.length === 0) return false;
    const before = known.get(used.replica);
    // Not `>=`, so that a stored figure that is no number is replaced.
    return (
      age >= FOR_POLICIES_MS ||
      before === undefined ||
      steps.some(({ resource, step }) => !(Math.abs(used[resource] - before[resource]) < step))
    );
  });
}

/** By how much each figure of a replica has to move to count; empty when no policy looks at it. */
function findSteps(
  cache: Cache,
  tenant: string,
  uid: string,
): readonly { readonly resource: ScaledResource; readonly step: number }[] {
  const [entry] = cache.by(REPLICAS_BY_UID, uid);
  const replica = entry && readReplica(entry);
  if (replica?.tenant !== tenant) return [];
  const deployment = readValue<StoredDeployment>(cache, keys.deployment(tenant, replica.deployment));
  const { policy } = readScaling(cache, { tenant, name: replica.deployment });
  if (!deployment || !policy || !isPolicyOf(deployment, policy)) return [];
  return scaledResources.flatMap(resource => {
    const [target, request] = [getScalingTarget(policy, resource), getRequest(deployment, resource)];
    return target && request ? [{ resource, step: (target / 100) * request * NEWS }] : [];
  });
}
