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
  andDependents,
  deploymentsOnFailingNode,
  deploymentsOnNode,
  itself,
  reportedDeployment,
} from '../reading/index.js';
import { type Decide, keepReplicas } from './reconcile.js';

export { decideReplicas } from './decide.js';

/** The loop. `decide` is for simulations. */
export function replicaKeeper(decide?: Decide, policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'replica-keeper',
    wakes: [
      andDependents(itself(ranges.deployments)),
      andDependents(itself(ranges.replicas)),
      itself(ranges.schedulings),
      andDependents(reportedDeployment((before, after) => wordOf(before) !== wordOf(after))),
      andDependents(deploymentsOnNode),
      andDependents(deploymentsOnFailingNode),
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
