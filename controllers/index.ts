/**
 * The loops, and how to run them.
 *
 * Each loop is a folder: what it wakes on, reads, writes and never does is in its README; its decision is a pure function
 * in `decide.ts`. Loops never call each other: they meet in the store. What one does among the others is tested in its folder,
 * and what holds for all of them in `*.test.ts` here, on a `TestCluster`.
 *
 * `createControllers` runs them in any process: `main.ts` is the one that does nothing else.
 *
 * It leaves the queue, leadership and retries to `pkg/reconcile`, and placement to `pkg/placement`.
 *
 * @module
 */
import { setMaxListeners } from 'node:events';

import { untilAborted } from '../pkg/clock/index.js';
import { countEvents, EventLeases, EventWriter } from '../pkg/events/index.js';
import type { PlacementPolicy } from '../pkg/fleet/index.js';
import type { Metrics } from '../pkg/metrics/index.js';
import { type Loop, type LoopMeter, type RuntimeEnv, runLoops } from '../pkg/reconcile/index.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import { LeaseGoneFault } from '../pkg/store/index.js';
import type { Tracer } from '../pkg/trace/index.js';
import { createLoops, createSecretLoops } from './list.js';
import { defineIndexes } from './reading/index.js';
import { traceReconciles } from './trace-reconciles.js';

export { createLoops, createSecretLoops };

/** What the controllers of one process need. */
export interface ControllersEnv extends Omit<RuntimeEnv, 'events' | 'meter' | 'onFailure'> {
  readonly eventRetentionDays: number;
  readonly metrics?: Metrics;
  /** Left out: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Left out: the default settings. */
  readonly policy?: PlacementPolicy;
  /** How long a failed node has to come back before its replicas count as lost. Left out: the default. */
  readonly nodeGraceSeconds?: number;
  /** Left out: volumes are managed. */
  readonly volumeManagement?: boolean;
  /** Left out: the loops that need it do not run, and deployments with secrets wait. */
  readonly secrets?: SecretStore;
  /** The loops to run. Left out: every loop. */
  readonly loops?: readonly Loop[];
}

export interface Controllers {
  /**
   * Runs until `signal` is aborted; resolves when all work has ended and every leadership was handed back. The cache
   * must be fed until then.
   */
  run(signal: AbortSignal): Promise<void>;
}

/** Creates the controllers of this process. Must be called before the cache is fed: it defines indexes. */
export function createControllers({
  eventRetentionDays,
  metrics,
  tracer,
  loops,
  policy,
  nodeGraceSeconds,
  volumeManagement = true,
  secrets,
  ...env
}: ControllersEnv): Controllers {
  defineIndexes(env.cache);
  return {
    async run(signal) {
      setMaxListeners(0, signal); // every loop listens
      const store = metrics ? countEvents(env.store, metrics) : env.store;
      const leases = new EventLeases(store, env.clock, eventRetentionDays);
      const events = new EventWriter(leases, env.clock, env.random);
      const runtime: RuntimeEnv = {
        ...env,
        store,
        events,
        ...(metrics && { meter: toLoopMeter(metrics) }),
        onFailure: error => {
          if (error instanceof LeaseGoneFault) leases.discard();
        },
      };
      await Promise.race([env.cache.ready, untilAborted(signal)]);
      const settings = { volumeManagement, ...(nodeGraceSeconds !== undefined && { nodeGraceSeconds }) };
      const all = loops ?? [...createLoops(policy, settings), ...(secrets ? createSecretLoops(secrets) : [])];
      await runLoops(tracer ? all.map(loop => traceReconciles(loop, tracer)) : all, runtime, signal);
    },
  };
}

/** Records the figures of the runtime as metrics of the process. */
function toLoopMeter(metrics: Metrics): LoopMeter {
  return {
    depth: (loop, keys) => metrics.set('mooring_queue_depth', { loop }, keys),
    waited: (loop, ms) => metrics.observe('mooring_queue_wait_seconds', { loop }, ms / 1000),
    reconciled: (loop, result, ms) => {
      metrics.observe('mooring_reconcile_seconds', { loop, result }, ms / 1000);
      if (result === 'retry') metrics.count('mooring_reconcile_retries_total', { loop });
    },
    leading: (loop, leads) => metrics.set('mooring_loop_leader', { loop }, leads ? 1 : 0),
  };
}
