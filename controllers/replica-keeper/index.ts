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
  onlyOwners,
  withDependents,
  wakeOnNodeStatusChange,
  wakeOnPromotion,
  wakeOnNodeChange,
  wakeItself,
  wakeReported,
} from '../reading/index.js';
import { decideReplicas } from './decide.js';
import { keepReplicas } from './reconcile.js';

export { decideReplicas };

/** How long a container without a health check has to run until a rollout counts on it, unless a setting says otherwise. */
const SETTLE_SECONDS = 3;

/** `decide` is replaced only by simulations. */
export function createReplicaKeeper(
  decide = decideReplicas,
  policy: PlacementPolicy = defaultPolicy,
  settleSeconds = SETTLE_SECONDS,
): Loop {
  return {
    name: 'replica-keeper',
    wakes: onlyOwners('Deployment', [
      withDependents(wakeItself(ranges.deployments)),
      withDependents(wakeItself(ranges.replicas)),
      wakeItself(ranges.schedulings),
      wakeItself(ranges.rollouts),
      wakeItself(ranges.canaryOrders),
      wakeItself(ranges.scalingPolicies),
      wakeItself(ranges.scalings),
      withDependents(wakeReported((before, after) => toRelevantState(before) !== toRelevantState(after))),
      withDependents(wakeOnNodeChange),
      withDependents(wakeOnNodeStatusChange),
      wakeOnPromotion,
    ]),
    reconcile: keepReplicas(policy, settleSeconds * 1000, decide),
    concurrency: 16,
  };
}

/** The part of a report that decisions of this loop depend on. */
function toRelevantState(report: Report | undefined): string {
  if (isReady(report)) {
    const since = report?.health === 'none' ? (report.since ?? '') : '';
    return `ready ${report?.health} ${since} ${report?.restarts}`;
  }
  if (report?.state === 'failed' || report?.reason === 'crash_loop') return 'broken';
  return report?.state === 'removed' || report?.state === 'running' ? `${report.state} ${report.health}` : '';
}
