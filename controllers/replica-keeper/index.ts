/**
 * The replica keeper: keeps as many replica records as a deployment asks for, of the template it asks for.
 *
 * It alone creates and deletes replica records. A slot holds at most one, so there are never two containers of one slot.
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
import { decideReplicas } from './decide.js';
import { keepReplicas } from './reconcile.js';

export { decideReplicas };

/** `decide` is replaced only by simulations. */
export function createReplicaKeeper(decide = decideReplicas, policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'replica-keeper',
    wakes: [
      withDependents(wakeItself(ranges.deployments)),
      withDependents(wakeItself(ranges.replicas)),
      wakeItself(ranges.schedulings),
      withDependents(wakeReported((before, after) => toRelevantState(before) !== toRelevantState(after))),
      withDependents(wakeOnNodeChange),
      withDependents(wakeOnNodeStatusChange),
    ],
    reconcile: keepReplicas(policy, decide),
    concurrency: 16,
  };
}

/** The part of a report that decisions of this loop depend on. */
function toRelevantState(report: Report | undefined): string {
  if (isReady(report)) return `ready ${report?.health}`;
  return report?.state === 'removed' || report?.state === 'running' ? report.state : '';
}
