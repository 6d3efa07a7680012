import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type ObjectName, ranges } from '../../crds/keys/index.js';
import type { Regions } from '../../crds/residency/index.js';
import { defaultPolicy, residencyRuleOf } from '../../pkg/fleet/index.js';
import { type Cache, type Entry, type Guard, value } from '../../pkg/store/index.js';
import { type SeenReplica, seeReplica } from './seen-replica.js';

/** One deployment with its replicas, as the cache shows them. */
export interface DeploymentReading {
  /** Undefined when there is none of that name any more. */
  readonly deployment: StoredDeployment | undefined;
  /** By slot, the lowest first. */
  readonly replicas: readonly SeenReplica[];
  /** Holds while the deployment is exactly as it was read, absence included. */
  readonly unchanged: Guard;
  /** Holds while it is the same deployment, whatever it asks for by now. */
  readonly same: Guard;
}

/** Reads a deployment and all that belongs to it. `regions` is what the operator declares about residency. */
export function readDeployment(
  { tenant, name }: ObjectName,
  cache: Cache,
  regions: Regions = defaultPolicy.regions,
): DeploymentReading {
  const key = keys.deployment(tenant, name);
  const entry: Entry | undefined = cache.get(key);
  const deployment = entry && value<StoredDeployment>(entry);
  const residency = deployment && residencyRuleOf(deployment, regions);
  const unchanged: Guard = { key, at: entry?.revision ?? 0 };
  return {
    deployment,
    replicas: cache
      .list(ranges.replicasOf(tenant, name))
      .map(replica => seeReplica(replica, cache, residency))
      .toSorted((a, b) => a.replica.slot - b.replica.slot),
    unchanged,
    same: entry ? { key, created: entry.created } : unchanged,
  };
}

/** Whether a replica can be had elsewhere as well as here: none that writes to a volume can. */
export function isMovable({ volumes = [] }: StoredDeployment): boolean {
  return volumes.every(({ readOnly }) => readOnly);
}
