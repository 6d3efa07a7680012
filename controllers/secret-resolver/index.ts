/**
 * The secret resolver: a container is created only when every secret that it refers to was found.
 *
 * It stamps a replica with the versions that it found; values never enter a record. What is missing it reports once for
 * each cause, and it looks again until everything is found.
 *
 * @module
 */
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { Loop, Wake } from '../../pkg/reconcile/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import { deriveQueueKey, formatQueueKey, wakeItself, wakeReported } from '../reading/index.js';
import { resolveDeployment } from './reconcile.js';

export function createSecretResolver(secrets: SecretStore): Loop {
  return {
    name: 'secret-resolver',
    wakes: [
      wakeItself(ranges.replicas),
      wakeItself(ranges.unresolved),
      wakeItself(ranges.deliveries),
      wakeReported((before, after) => after?.reason !== before?.reason && after?.state === 'failed'),
      wakeUnresolved,
      wakeOnSecretWrite,
    ],
    reconcile: resolveDeployment(secrets),
    concurrency: 16,
  };
}

/** Wakes a deployment with a report when it changes: the report of a deleted deployment is deleted. */
const wakeUnresolved: Wake = {
  prefix: ranges.deployments,
  keys: ({ key }, cache) => {
    const [tenant = '', name = ''] = splitKey(key);
    return cache.get(keys.unresolved(tenant, name)) ? [formatQueueKey({ tenant, name })] : [];
  },
};

/** Wakes the deployments of a tenant that wait for secrets, when one is written to the embedded store. */
const wakeOnSecretWrite: Wake = {
  prefix: ranges.secrets,
  keys: ({ key }, cache) => {
    const [tenant = ''] = splitKey(key);
    return cache.list(ranges.of(ranges.unresolved, tenant)).map(entry => deriveQueueKey(entry.key));
  },
};
