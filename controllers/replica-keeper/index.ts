/**
 * The replica keeper: keeps as many replica records as a deployment asks for, of the template it asks for.
 *
 * It alone makes and deletes replica records. A slot holds at most one, so there are never two containers of one slot.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import { isReady } from '../../crds/report/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import { deploymentsOnFailingNode, deploymentsOnNode, itself, reportedDeployment } from '../reading/index.js';
import { type Decide, keepReplicas } from './reconcile.js';

export { decideReplicas } from './decide.js';

/** The loop. `decide` is for simulations. */
export function replicaKeeper(decide?: Decide): Loop {
  return {
    name: 'replica-keeper',
    wakes: [
      itself(ranges.deployments),
      itself(ranges.replicas),
      itself(ranges.schedulings),
      reportedDeployment(
        (before, after) =>
          isReady(before) !== isReady(after) || (before?.state === 'removed') !== (after?.state === 'removed'),
      ),
      deploymentsOnNode,
      deploymentsOnFailingNode,
    ],
    reconcile: keepReplicas(decide),
    concurrency: 16,
  };
}
