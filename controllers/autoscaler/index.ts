/**
 * The autoscaler: moves the number of replicas of deployments with a scaling policy by what their containers use.
 *
 * It writes how many replicas are wanted, and why, into a record of its own; the spec of the deployment stays as it was sent.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import { wakeItself } from '../reading/index.js';
import { decideScaling } from './decide.js';
import { scaleDeployment } from './reconcile.js';

export { decideScaling };

/** `decide` is replaced only by simulations. */
export function createAutoscaler(decide = decideScaling): Loop {
  return {
    name: 'autoscaler',
    wakes: [wakeItself(ranges.scalingPolicies), wakeItself(ranges.deployments)],
    reconcile: scaleDeployment(decide),
    concurrency: 16,
  };
}
