/**
 * The scheduler: gives every replica a node of its own tenant, or says why none will do.
 *
 * Woken by replicas without a node, and by whatever may help those that wait. Writes a replica's node once and never
 * moves it.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import { type CacheChange, value } from '../../pkg/store/index.js';
import { isWaiting, itself, queueKeyOf, waitingDeployments } from '../reading/index.js';
import { schedule } from './reconcile.js';

/** The loop. */
export function scheduler(): Loop {
  return {
    name: 'scheduler',
    wakes: [
      itself(ranges.deployments),
      itself(ranges.schedulings),
      { prefix: ranges.replicas, keys: change => (concernsWaiting(change) ? [queueKeyOf(change.key)] : []) },
      waitingDeployments(ranges.replicas, freesRoom),
      waitingDeployments(ranges.nodes),
      waitingDeployments(ranges.nodeStatuses),
    ],
    reconcile: schedule(),
    concurrency: 16,
  };
}

function concernsWaiting({ entry, previous }: CacheChange): boolean {
  return [entry, previous].some(each => each && isWaiting(value<Replica>(each)));
}

/** A replica that had a node is no longer there. */
function freesRoom({ entry, previous }: CacheChange): boolean {
  const before = previous && value<Replica>(previous);
  return before?.nodeId !== undefined && (!entry || value<Replica>(entry).uid !== before.uid);
}
