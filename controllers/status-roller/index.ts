/**
 * The status roller: derives the status of a deployment from its replicas, and events from changes of its phase.
 *
 * It writes a status only when it differs, so a deployment that does not change costs nothing.
 *
 * @module
 */
import type { Unresolved } from '../../crds/delivery/index.js';
import type { DeploymentStatus } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import { done, type Loop, type Reconcile } from '../../pkg/reconcile/index.js';
import { encode, readValue, value } from '../../pkg/store/index.js';
import {
  listUnmetDependencies,
  parseQueueKey,
  readDeployment,
  wakeItself,
  wakeOnNodeChange,
  wakeOnNodeStatusChange,
  wakeReported,
  withDependents,
} from '../reading/index.js';
import { draftStatusEvents, rollStatus } from './decide.js';
import { summariseReplicas } from './summary.js';
import { orUnusable } from './unusable.js';

export function createStatusRoller(policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'status-roller',
    wakes: [
      withDependents(wakeItself(ranges.deployments)),
      wakeItself(ranges.statuses),
      wakeItself(ranges.schedulings),
      wakeItself(ranges.unresolved),
      withDependents(wakeItself(ranges.replicas)),
      withDependents(wakeReported()),
      withDependents(wakeOnNodeChange),
      withDependents(wakeOnNodeStatusChange),
    ],
    reconcile: rollDeployment(policy),
    concurrency: 16,
  };
}

/** Writes the status of one deployment when it differs from the stored one, with the events of the change. */
function rollDeployment({ regions }: PlacementPolicy): Reconcile {
  return async (queueKey, { cache, clock, commit, events, log }) => {
    const named = parseQueueKey(queueKey);
    const { tenant, name } = named;
    const { deployment, replicas, same } = readDeployment(named, cache, regions);
    const key = keys.status(tenant, name);
    const stored = cache.get(key);
    const guards = [{ key, at: stored?.revision ?? 0 }, same];
    if (!deployment) {
      if (stored) await commit({ guards, puts: [], deletes: [key] });
      return done;
    }

    const previous = stored && value<DeploymentStatus>(stored);
    const now = new Date(clock.now()).toISOString();
    const derive = () => {
      const input = {
        deployment,
        replicas,
        scheduling: readValue<SchedulingReport>(cache, keys.scheduling(tenant, name)),
        unmet: listUnmetDependencies(deployment, cache),
        unresolved: readValue<Unresolved>(cache, keys.unresolved(tenant, name)),
      };
      const status = rollStatus({ ...input, enforced: regions.enforced, previous, now });
      const before = previous?.uid === status.uid ? previous : undefined;
      return { status, drafts: draftStatusEvents(deployment, before, status, summariseReplicas(input)) };
    };
    const { status, drafts } = orUnusable(derive, { deployment, previous, now });
    if (status === previous) return done;

    const own = previous?.uid === status.uid ? previous : undefined;
    const puts = await Promise.all(drafts.map(draft => events.put(draft)));
    await commit({ guards, puts: [{ key, bytes: encode(status) }, ...puts], deletes: [] });
    if (own?.phase !== status.phase) {
      log.info('deployment changed phase', { tenant, deployment: name, phase: status.phase });
    }
    return done;
  };
}
