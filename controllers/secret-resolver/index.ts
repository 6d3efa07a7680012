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
import type { Cache } from '../../pkg/store/index.js';
import { deriveQueueKey, parseQueueKey, wakeItself, wakeJob, wakeReported } from '../reading/index.js';
import { resolveDeployment } from './reconcile.js';

export function createSecretResolver(secrets: SecretStore): Loop {
  return {
    name: 'secret-resolver',
    wakes: [
      wakeItself(ranges.replicas),
      wakeItself(ranges.unresolved),
      wakeItself(ranges.deliveries),
      wakeReported((before, after) => after?.reason !== before?.reason && after?.state === 'failed'),
      wakeUnresolved(wakeItself(ranges.deployments)),
      wakeUnresolved(wakeJob(ranges.jobs)),
      wakeOnSecretWrite,
    ],
    reconcile: resolveDeployment(secrets),
    concurrency: 16,
  };
}

/** Wakes only what has a report, when it changes: the report of what is deleted is deleted. */
function wakeUnresolved({ prefix, keys: wakeKeys }: Wake): Wake {
  const hasReport = (cache: Cache) => (key: string) => {
    const { tenant, name } = parseQueueKey(key);
    return cache.get(keys.unresolved(tenant, name)) !== undefined;
  };
  return { prefix, keys: (change, cache) => wakeKeys(change, cache).filter(hasReport(cache)) };
}

/** Wakes the deployments of a tenant that wait for secrets, when one is written to the embedded store. */
const wakeOnSecretWrite: Wake = {
  prefix: ranges.secrets,
  keys: ({ key }, cache) => {
    const [tenant = ''] = splitKey(key);
    return cache.list(ranges.of(ranges.unresolved, tenant)).map(entry => deriveQueueKey(entry.key));
  },
};
