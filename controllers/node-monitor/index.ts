/**
 * The node monitor: says of each node whether it is joining, ready, draining or failed, and when what is on it is lost.
 *
 * Presence is a key on the node's lease, and so is the time that a failed node has to come back: silence is noticed by
 * the store and not by a timer here, and a controller that was down or slow never mistakes its own absence for a node's.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { NODES_BY_ID } from '../../pkg/fleet/index.js';
import type { Loop, Wake } from '../../pkg/reconcile/index.js';
import { value } from '../../pkg/store/index.js';
import { wakeItself, formatQueueKey } from '../reading/index.js';
import { monitorNode } from './reconcile.js';

/** Time that a failed node has to come back before what is on it counts as lost, unless the settings say otherwise. */
const GRACE_SECONDS = 60;

/** The loop. */
export function nodeMonitor(graceSeconds = GRACE_SECONDS): Loop {
  return {
    name: 'node-monitor',
    wakes: [
      wakeItself(ranges.nodes),
      wakeItself(ranges.alive),
      wakeItself(ranges.nodeStatuses),
      wakeItself(ranges.nodeGraces),
      drainedNode,
    ],
    reconcile: monitorNode(graceSeconds),
    concurrency: 16,
  };
}

/** Wakes a node that is being emptied when a replica comes or goes. */
const drainedNode: Wake = {
  prefix: ranges.replicas,
  keys: ({ entry, previous }, cache) => {
    const [after, before] = [entry, previous].map(each => each && value<Replica>(each).nodeId);
    const id = after === before ? undefined : (before ?? after);
    if (id === undefined) return [];
    const nodes = cache.by(NODES_BY_ID, id).map(each => value<StoredNode>(each));
    return nodes
      .filter(({ orders }) => orders?.drain)
      .map(({ metadata, name }) => formatQueueKey({ tenant: metadata.tenant, name }));
  },
};
