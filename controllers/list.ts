import { defaultPolicy, type PlacementPolicy } from '../pkg/fleet/index.js';
import type { Loop } from '../pkg/reconcile/index.js';
import { nodeMonitor } from './node-monitor/index.js';
import { replicaKeeper } from './replica-keeper/index.js';
import { scheduler } from './scheduler/index.js';
import { statusRoller } from './status-roller/index.js';

/**
 * Every loop there is, made anew: a loop may keep what it anticipates in memory. `nodeGraceSeconds` is the time that a
 * failed node has to come back.
 */
export function allLoops(policy: PlacementPolicy = defaultPolicy, nodeGraceSeconds?: number): readonly Loop[] {
  return [replicaKeeper(undefined, policy), scheduler(policy), statusRoller(policy), nodeMonitor(nodeGraceSeconds)];
}
