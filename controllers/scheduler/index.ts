/**
 * The scheduler: gives every replica a node of its own tenant, or says why none will do.
 *
 * Woken by replicas without a node, and by whatever may help those that wait. Writes a replica's node once and never
 * moves it.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import type { Cache } from '../../pkg/store/index.js';
import { wakeItself, wakeJob } from '../reading/index.js';
import { schedule } from './reconcile.js';
import { SchedulerState } from './state.js';
import {
  wakeOnCandidateChange,
  wakeOnEndedJob,
  wakeOnReadinessChange,
  wakeOnTenantChange,
  wakeOnAntiAffinityChange,
  wakeOnLoadChange,
  wakeOnRemoval,
  wakeOnNetworkChange,
  wakeOnVolumeChange,
  wakeOnWaitingReplica,
} from './wakes.js';

/** The loop. */
export function createScheduler(policy: PlacementPolicy = defaultPolicy): Loop {
  let state: SchedulerState | undefined;
  const stateOf = (cache: Cache) => (state ??= new SchedulerState(cache));
  return {
    name: 'scheduler',
    wakes: [
      wakeItself(ranges.deployments),
      wakeJob(ranges.jobs),
      wakeItself(ranges.schedulings),
      wakeOnWaitingReplica,
      wakeOnLoadChange(policy, cache => stateOf(cache).fleets),
      wakeOnCandidateChange(policy),
      wakeOnReadinessChange,
      wakeOnTenantChange,
      wakeOnAntiAffinityChange,
      wakeOnRemoval(ranges.deployments),
      wakeOnRemoval(ranges.jobs),
      wakeOnEndedJob,
      wakeOnNetworkChange,
      wakeOnVolumeChange,
    ],
    reconcile: schedule(policy, stateOf),
    concurrency: 64,
  };
}
