/**
 * The job runner: makes the attempts of jobs, one after the other, and keeps how each of them ended.
 *
 * It alone creates and deletes the records of attempts, and writes the status of jobs. Where an attempt runs, with which
 * secrets, is decided by the same loops as for the replicas of deployments.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import {
  onlyOwners,
  wakeItself,
  wakeJob,
  wakeOnNodeChange,
  wakeOnNodeStatusChange,
  wakeOnPromotion,
  wakeReported,
} from '../reading/index.js';
import { decideJob } from './decide.js';
import { runJob } from './reconcile.js';

export { decideJob };

/** `decide` is replaced only by simulations. */
export function createJobRunner(policy: PlacementPolicy = defaultPolicy, decide = decideJob): Loop {
  return {
    name: 'job-runner',
    wakes: onlyOwners('Job', [
      wakeJob(ranges.jobs),
      wakeJob(ranges.jobStatuses),
      wakeItself(ranges.replicas),
      wakeItself(ranges.schedulings),
      wakeItself(ranges.unresolved),
      wakeReported(),
      wakeOnNodeChange,
      wakeOnNodeStatusChange,
      wakeOnPromotion,
    ]),
    reconcile: runJob(policy, decide),
    concurrency: 16,
  };
}
