/**
 * The status roller: derives the status of a deployment from its replicas, and events from changes of its phase.
 *
 * It writes a status only when it differs, so a deployment that does not change costs nothing.
 *
 * @module
 */
import type { UnresolvedRecord } from '../../crds/delivery/index.js';
import type { DeploymentStatus } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { defaultPolicy, type PlacementPolicy, readScaling } from '../../pkg/fleet/index.js';
import { done, type Loop, type Reconcile } from '../../pkg/reconcile/index.js';
import { encode, readValue, value } from '../../pkg/store/index.js';
import {
  findNextLook,
  listUnmetDependencies,
  onlyOwners,
  parseQueueKey,
  readDeployment,
  wakeItself,
  wakeOnNodeChange,
  wakeOnNodeStatusChange,
  wakeReported,
  withDependents,
} from '../reading/index.js';
import { announceAll } from './announce.js';
import { draftStatusEvents, rollStatus } from './decide.js';
import { listOpenRotations, wakeOnRotation, wakeOnRotationProgress } from './rotations.js';
import { toScalingStatus } from './scaling-status.js';
import { summariseReplicas } from './summary.js';
import { orUnusable } from './unusable.js';

export function createStatusRoller(policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'status-roller',
    wakes: onlyOwners('Deployment', [
      withDependents(wakeItself(ranges.deployments)),
      withDependents(wakeItself(ranges.statuses)),
      wakeOnRotation,
      wakeOnRotationProgress,
      wakeItself(ranges.schedulings),
      wakeItself(ranges.unresolved),
      wakeItself(ranges.rollouts),
      withDependents(wakeItself(ranges.scalingPolicies)),
      withDependents(wakeItself(ranges.scalings)),
      withDependents(wakeItself(ranges.replicas)),
      withDependents(wakeReported()),
      withDependents(wakeOnNodeChange),
      withDependents(wakeOnNodeStatusChange),
    ]),
    reconcile: rollDeployment(policy),
    concurrency: 16,
  };
}

/** Writes the status of one deployment when it differs from the stored one, with the events of the change. */
function rollDeployment({ regions }: PlacementPolicy): Reconcile {
  return async (queueKey, { cache, clock, commit, events, reads, log }) => {
    const named = parseQueueKey(queueKey);
    const { tenant, name } = named;
    const { deployment, wanted, fault, replicas, same } = readDeployment(named, cache, regions);
    const key = keys.status(tenant, name);
    const stored = cache.get(key);
    const guards = [{ key, at: stored?.revision ?? 0 }, same];
    if (!deployment || !wanted) {
      if (stored) await commit({ guards, puts: [], deletes: [key] });
      return done;
    }

    // A phase that the scheduler or the secret resolver has just contradicted, with an event of its own, is not announced.
    const reported = [keys.scheduling(tenant, name), keys.unresolved(tenant, name)].map(each => ({
      key: each,
      at: cache.get(each)?.revision ?? 0,
    }));
    const previous = stored && value<DeploymentStatus>(stored);
    const now = new Date(clock.now()).toISOString();
    const derive = () => {
      if (fault !== undefined) throw new Error(fault);
      const input = {
        deployment: wanted,
        replicas,
        scaling: toScalingStatus(deployment, readScaling(cache, named)),
        scheduling: readValue<SchedulingReport>(cache, keys.scheduling(tenant, name)),
        unmet: listUnmetDependencies(deployment, cache),
        unresolved: readValue<UnresolvedRecord>(cache, keys.unresolved(tenant, name)),
        rollout: readValue<RolloutRecord>(cache, keys.rollout(tenant, name)),
        now,
      };
      const rotations = listOpenRotations(deployment, cache);
      const status = rollStatus({ ...input, rotations, enforced: regions.enforced, previous });
      const before = previous?.uid === status.uid ? previous : undefined;
      return { status, drafts: draftStatusEvents(deployment, before, status, summariseReplicas(input)) };
    };
    const { status, drafts } = orUnusable(derive, { deployment, previous, now });
    const next = findNextLook(replicas, clock.now());
    if (status === previous) return next;

    const own = previous?.uid === status.uid ? previous : undefined;
    const announced = await announceAll(drafts, status, now, { events, reads });
    const puts = [{ key, bytes: encode(announced.status) }, ...announced.puts];
    await commit({ guards: [...guards, ...reported], puts, deletes: [] });
    if (own?.phase !== status.phase) {
      log.info('deployment changed phase', { tenant, deployment: name, phase: status.phase });
    }
    return next;
  };
}
