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
import { itself } from '../reading/index.js';
import { schedule } from './reconcile.js';
import {
  changedNode,
  changedStatus,
  changedTenant,
  changedWishes,
  freedRoom,
  removedDeployment,
  waitingReplicas,
} from './wakes.js';

/** The loop. */
export function scheduler(policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'scheduler',
    wakes: [
      itself(ranges.deployments),
      itself(ranges.schedulings),
      waitingReplicas,
      freedRoom(policy),
      changedNode(policy),
      changedStatus,
      changedTenant,
      changedWishes,
      removedDeployment,
    ],
    reconcile: schedule(policy),
    concurrency: 64,
  };
}
