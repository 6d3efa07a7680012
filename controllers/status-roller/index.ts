/**
 * The status roller: turns what is seen of a deployment into its status, and changes of phase into events.
 *
 * It writes a status only when it differs, so a deployment that stands still costs nothing.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import { deploymentsOnFailingNode, deploymentsOnNode, itself, reportedDeployment } from '../reading/index.js';
import { rollOne } from './reconcile.js';

/** The loop. */
export function statusRoller(): Loop {
  return {
    name: 'status-roller',
    wakes: [
      itself(ranges.deployments),
      itself(ranges.statuses),
      itself(ranges.schedulings),
      itself(ranges.replicas),
      reportedDeployment(),
      deploymentsOnNode,
      deploymentsOnFailingNode,
    ],
    reconcile: rollOne,
    concurrency: 16,
  };
}
