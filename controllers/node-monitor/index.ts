/**
 * The node monitor: says of each node whether it is joining, ready or failed.
 *
 * Presence is a key on the node's lease, so silence is noticed by the store and not by a timer here: a controller that was
 * down or slow never mistakes its own absence for a node's.
 *
 * @module
 */
import { ranges } from '../../crds/keys/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import { itself } from '../reading/index.js';
import { monitorOne } from './reconcile.js';

/** The loop. */
export function nodeMonitor(): Loop {
  return {
    name: 'node-monitor',
    wakes: [itself(ranges.nodes), itself(ranges.alive), itself(ranges.nodeStatuses)],
    reconcile: monitorOne,
    concurrency: 16,
  };
}
