import type { Unresolved } from '../../crds/delivery/index.js';
import type { DeploymentStatus } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import type { PlacementPolicy } from '../../pkg/fleet/index.js';
import { done, type Reconcile } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Entry, value } from '../../pkg/store/index.js';
import { listUnmetDependencies, parseQueueKey, readDeployment } from '../reading/index.js';
import { draftStatusEvents } from './events.js';
import { rollStatus } from './decide.js';
import { summariseReplicas } from './summary.js';

/** Writes what is seen of one deployment, when it differs from what is written, with the events of the change. */
export function rollDeployment({ regions }: PlacementPolicy): Reconcile {
  return async (key, env) => {
    const named = parseQueueKey(key);
    const { deployment, replicas, same } = readDeployment(named, env.cache, regions);
    const statusKey = keys.status(named.tenant, named.name);
    const held = env.cache.get(statusKey);
    if (!deployment) {
      if (held) await env.commit(removal(held, same));
      return done; // removed, its status with it
    }

    const previous = held && value<DeploymentStatus>(held);
    const waiting = env.cache.get(keys.scheduling(named.tenant, named.name));
    const unresolved = env.cache.get(keys.unresolved(named.tenant, named.name));
    const facts = {
      deployment,
      replicas,
      scheduling: waiting && value<SchedulingReport>(waiting),
      unmet: listUnmetDependencies(deployment, env.cache),
      unresolved: unresolved && value<Unresolved>(unresolved),
    };
    const now = new Date(env.clock.now()).toISOString();
    const status = rollStatus({ ...facts, enforced: regions.enforced, previous, now });
    if (status === previous) return done;

    const own = previous?.uid === status.uid ? previous : undefined;
    const drafts = draftStatusEvents(deployment, own, status, summariseReplicas(facts));
    const events = await Promise.all(drafts.map(draft => env.events.put(draft)));
    await env.commit({
      guards: [{ key: statusKey, at: held?.revision ?? 0 }, same],
      puts: [{ key: statusKey, bytes: encode(status) }, ...events],
      deletes: [],
    });
    if (own?.phase !== status.phase) {
      env.log.info('deployment changed phase', { tenant: named.tenant, deployment: named.name, because: status.phase });
    }
    return done;
  };
}

function removal(held: Entry, absent: Change['guards'][number]): Change {
  return { guards: [{ key: held.key, at: held.revision }, absent], puts: [], deletes: [held.key] };
}
