/**
 * The secret resolver: before a container may be made, everything that it refers to must be found.
 *
 * It stamps a replica with the versions it found and never sees a value in a record. What it cannot find it says, once for
 * each standing cause, and looks again until it can.
 *
 * @module
 */
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { Loop, Wake } from '../../pkg/reconcile/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import { wakeItself, formatQueueKey, deriveQueueKey, wakeReported } from '../reading/index.js';
import { resolveDeployment } from './reconcile.js';

/** The loop. */
export function secretResolver(secrets: SecretStore): Loop {
  return {
    name: 'secret-resolver',
    wakes: [
      wakeItself(ranges.replicas),
      wakeItself(ranges.unresolved),
      wakeItself(ranges.deliveries),
      wakeReported((before, after) => after?.reason !== before?.reason && after?.state === 'failed'),
      deletedDeployment,
      writtenSecret,
    ],
    reconcile: resolveDeployment(secrets),
    concurrency: 16,
  };
}

/** Wakes a deployment that is gone or is to go, so that nothing of it is left. */
const deletedDeployment: Wake = {
  prefix: ranges.deployments,
  keys: ({ key }, cache) => {
    const [tenant = '', name = ''] = splitKey(key);
    return cache.get(keys.unresolved(tenant, name)) ? [formatQueueKey({ tenant, name })] : [];
  },
};

/** Wakes the deployments of a tenant that wait, when a credential of it is written to the embedded store. */
const writtenSecret: Wake = {
  prefix: ranges.secrets,
  keys: ({ key }, cache) => {
    const [tenant = ''] = splitKey(key);
    return cache.list(ranges.of(ranges.unresolved, tenant)).map(entry => deriveQueueKey(entry.key));
  },
};
