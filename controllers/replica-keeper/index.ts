/**
 * The replica keeper: keeps as many replica records as a deployment asks for, of the template it asks for.
 *
 * It alone makes and deletes replica records. A slot holds at most one, so there are never two containers of one slot.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import {
  withDependents,
  wakeOnNodeStatusChange,
  wakeOnNodeChange,
  wakeItself,
  wakeReported,
} from '../reading/index.js';
import { type DecideReplicas, keepReplicas } from './reconcile.js';

export { decideReplicas } from './decide.js';

/** The loop. `decide` is for simulations. */
export function replicaKeeper(decide?: DecideReplicas, policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'replica-keeper',
    wakes: [
      withDependents(wakeItself(ranges.deployments)),
      withDependents(wakeItself(ranges.replicas)),
      wakeItself(ranges.schedulings),
      withDependents(wakeReported((before, after) => wordOf(before) !== wordOf(after))),
      withDependents(wakeOnNodeChange),
      withDependents(wakeOnNodeStatusChange),
    ],
    reconcile: keepReplicas(policy, decide),
    concurrency: 16,
  };
}

/** As much of a report as decides anything here. */
function wordOf(report: Report | undefined): string {
  if (isReady(report)) return `ready ${report?.health}`;
  return report?.state === 'removed' || report?.state === 'running' ? report.state : '';
}
