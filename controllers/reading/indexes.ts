import type { StoredDeployment } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { defineFleetIndexes } from '../../pkg/fleet/index.js';
import { type Cache, value } from '../../pkg/store/index.js';
import { defineCredentialIndexes } from './credential-users.js';

/** Deployments by the tenant and name of each deployment that they depend on, as `<tenant>/<name>`. */
export const DEPENDENTS = 'controllers.dependents';

/** Whether the scheduler still has to find a node for the replica. */
export function isWaiting(replica: Replica): boolean {
  return replica.nodeId === undefined && replica.retiringSince === undefined;
}

/** Files what the loops look up. To be called once, before the cache is fed. */
export function defineIndexes(cache: Cache): void {
  defineFleetIndexes(cache);
  defineCredentialIndexes(cache);
  cache.defineIndex(DEPENDENTS, ranges.deployments, entry => {
    const { metadata, dependsOn = [] } = value<StoredDeployment>(entry);
    return dependsOn.map(({ name }) => `${metadata.tenant}/${name}`);
  });
}
