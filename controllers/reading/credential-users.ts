import type { StoredDeployment } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';
import { type SeenReplica, seeReplica } from './seen-replica.js';

/** Deployments by the tenant and path of each credential that they refer to, as `<tenant>/<namespace>/<label>`. */
const CONSUMERS = 'controllers.consumers';

/** Replicas by the same, as their own template says: a deployment may refer to something else by now. */
const HOLDERS = 'controllers.holders';

/** Files who uses which credential. To be called once, before the cache is fed. */
export function defineCredentialIndexes(cache: Cache): void {
  cache.defineIndex(CONSUMERS, ranges.deployments, entry => {
    const { metadata, secrets = [] } = value<StoredDeployment>(entry);
    return secrets.map(({ vault_path }) => `${metadata.tenant}/${vault_path}`);
  });
  cache.defineIndex(HOLDERS, ranges.replicas, entry => {
    const { tenant, template } = value<Replica>(entry);
    return (template.secrets ?? []).map(({ vault_path }) => `${tenant}/${vault_path}`);
  });
}

/** The deployments that refer to a credential. */
export function consumersOf(tenant: string, path: string, cache: Cache): readonly Entry[] {
  return cache.by(CONSUMERS, `${tenant}/${path}`);
}

/** The replicas whose containers have, or are to have, some version of a credential. */
export function holdersOf(tenant: string, path: string, cache: Cache): readonly SeenReplica[] {
  return cache.by(HOLDERS, `${tenant}/${path}`).map(entry => seeReplica(entry, cache, undefined));
}
