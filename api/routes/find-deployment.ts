import { isDnsLabel, isTypedId } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import type { Cache, Entry } from '../../pkg/store/index.js';
import { Refused } from '../refusal.js';
import { uidIn } from '../views/splice.js';

const BY_UID = 'api.deployments-by-uid';

/** Files deployments by their uid. To be called once, before the cache is fed. */
export function defineDeploymentIndex(cache: Cache): void {
  cache.defineIndex(BY_UID, ranges.deployments, ({ bytes }) => [uidIn(bytes)]);
}

/**
 * The deployment of this tenant that a path names, by its name or by its id. What another tenant has is refused in the
 * same words as what nobody has.
 */
export function findDeployment(cache: Cache, tenant: string, name: string): Entry | Refused {
  if (isTypedId('dep', name)) {
    const [entry] = cache.by(BY_UID, name);
    if (entry?.key.startsWith(ranges.of(ranges.deployments, tenant))) return entry;
    return new Refused(reject('deployment_not_found', 'deployment_id', name));
  }
  const entry = isDnsLabel(name) ? cache.get(keys.deployment(tenant, name)) : undefined;
  return entry ?? new Refused(reject('deployment_not_found', 'name', name));
}

/** The status that belongs to a deployment, if there is one yet. */
export function statusOf(cache: Cache, { key }: Entry): Entry | undefined {
  return cache.get(ranges.statuses + key.slice(ranges.deployments.length));
}
