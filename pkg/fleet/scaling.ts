import {
  getWantedReplicas,
  type ScalingRecord,
  type StoredDeployment,
  type StoredScalingPolicy,
} from '../../crds/deployment/index.js';
import { keys, type ObjectName } from '../../crds/keys/index.js';
import type { NodeUsage, ReplicaUsage } from '../../crds/node/index.js';
import { type Cache, readValue } from '../store/index.js';

/** The scaling policy of a deployment, and what was decided by it last. */
export interface StoredScaling {
  readonly policy: StoredScalingPolicy | undefined;
  readonly record: ScalingRecord | undefined;
}

/** Reads the scaling of a deployment, whichever had the name when it was written. */
export function readScaling(cache: Pick<Cache, 'get'>, { tenant, name }: ObjectName): StoredScaling {
  return {
    policy: readValue<StoredScalingPolicy>(cache, keys.scalingPolicy(tenant, name)),
    record: readValue<ScalingRecord>(cache, keys.scaling(tenant, name)),
  };
}

/**
 * The deployment with as many replicas as it is to have: those of its spec, or what the autoscaler has made of them. What is stored
 * of a deployment must not be made from it.
 */
export function withWantedReplicas<Given extends StoredDeployment | undefined>(
  deployment: Given,
  cache: Pick<Cache, 'get'>,
): Given {
  if (!deployment) return deployment;
  const { metadata, name } = deployment;
  const { policy, record } = readScaling(cache, { tenant: metadata.tenant, name });
  const wanted = getWantedReplicas(deployment, policy, record);
  const isWriter = deployment.volumes?.some(({ readOnly }) => !readOnly) ?? false;
  const replicas = isWriter ? Math.min(wanted, deployment.replicas) : wanted; // a second one would write to the same volume
  return replicas === deployment.replicas ? deployment : { ...deployment, replicas };
}

/** Figures that are older count for nothing. */
const FRESH_MS = 75_000;

/** What a replica on a node uses; undefined when nothing fresh is known of it. */
export function findUsage(
  cache: Pick<Cache, 'get'>,
  node: { readonly tenant: string; readonly name: string; readonly id: string },
  replica: string,
  now: number,
): ReplicaUsage | undefined {
  const usage = readValue<NodeUsage>(cache, keys.usage(node.tenant, node.name));
  if (usage?.id !== node.id || !(Math.abs(now - Date.parse(usage.at)) < FRESH_MS)) return undefined;
  return usage.replicas.find(each => each.replica === replica);
}
