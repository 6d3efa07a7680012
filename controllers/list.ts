import type { Loop } from '../pkg/reconcile/index.js';
import { nodeMonitor } from './node-monitor/index.js';
import { replicaKeeper } from './replica-keeper/index.js';
import { scheduler } from './scheduler/index.js';
import { statusRoller } from './status-roller/index.js';

/** Every loop there is, made anew: a loop may keep what it anticipates in memory. */
export function allLoops(): readonly Loop[] {
  return [replicaKeeper(), scheduler(), statusRoller(), nodeMonitor()];
}
