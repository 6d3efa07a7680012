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
  withDependents,
  wakeOnNodeStatusChange,
  wakeOnNodeChange,
  wakeItself,
  wakeReported,
} from '../reading/index.js';
import { rollDeployment } from './reconcile.js';

/** The loop. */
export function statusRoller(policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'status-roller',
    wakes: [
      withDependents(wakeItself(ranges.deployments)),
      wakeItself(ranges.statuses),
      wakeItself(ranges.schedulings),
      wakeItself(ranges.unresolved),
      withDependents(wakeItself(ranges.replicas)),
      withDependents(wakeReported()),
      withDependents(wakeOnNodeChange),
      withDependents(wakeOnNodeStatusChange),
    ],
    reconcile: rollDeployment(policy),
    concurrency: 16,
  };
}
