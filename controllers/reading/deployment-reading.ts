import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type Named, ranges } from '../../crds/keys/index.js';
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

/** Reads a deployment and all that belongs to it. */
export function readDeployment({ tenant, name }: Named, cache: Cache): DeploymentReading {
  const key = keys.deployment(tenant, name);
  const entry: Entry | undefined = cache.get(key);
  const unchanged: Guard = { key, at: entry?.revision ?? 0 };
  return {
    deployment: entry && value<StoredDeployment>(entry),
    replicas: cache
      .list(ranges.replicasOf(tenant, name))
      .map(replica => seeReplica(replica, cache))
      .toSorted((a, b) => a.replica.slot - b.replica.slot),
    unchanged,
    same: entry ? { key, created: entry.created } : unchanged,
  };
}
