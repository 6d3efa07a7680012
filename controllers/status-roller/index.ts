/**
 * The status roller: turns what is seen of a deployment into its status, and changes of phase into events.
 *
 * It writes a status only when it differs, so a deployment that stands still costs nothing.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import {
  andDependents,
  deploymentsOnFailingNode,
  deploymentsOnNode,
  itself,
  reportedDeployment,
} from '../reading/index.js';
import { rollOne } from './reconcile.js';

/** The loop. */
export function statusRoller(policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'status-roller',
    wakes: [
      andDependents(itself(ranges.deployments)),
      itself(ranges.statuses),
      itself(ranges.schedulings),
      itself(ranges.unresolved),
      andDependents(itself(ranges.replicas)),
      andDependents(reportedDeployment()),
      andDependents(deploymentsOnNode),
      andDependents(deploymentsOnFailingNode),
    ],
    reconcile: rollOne(policy),
    concurrency: 16,
  };
}
