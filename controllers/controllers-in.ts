import { EventLeases, EventWriter } from '../pkg/events/index.js';
import type { PlacementPolicy } from '../pkg/fleet/index.js';
import type { Metrics } from '../pkg/metrics/index.js';
import { type Loop, type RuntimeEnv, runLoops } from '../pkg/reconcile/index.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import { LeaseGoneFault } from '../pkg/store/index.js';
import { allLoops, secretLoops } from './list.js';
import { loopMetrics } from './loop-metrics.js';
import { defineIndexes } from './reading/index.js';

/** What the controllers of one process stand on. */
export interface ControllersEnv extends Omit<RuntimeEnv, 'events' | 'meter' | 'onFailure'> {
  readonly eventRetentionDays: number;
  readonly metrics?: Metrics;
  /** What the operator has settled about placement. Left out: the default settings. */
  readonly policy?: PlacementPolicy;
  /** Where credentials are kept. Left out: what refers to some waits. */
  readonly secrets?: SecretStore;
  /** The loops to run. Left out: every loop there is. */
  readonly loops?: readonly Loop[];
}

export interface Controllers {
  /**
   * Runs until `signal` is aborted; resolves when all work has ended and every leadership was handed back. The cache
   * must be fed until then.
   */
  run(signal: AbortSignal): Promise<void>;
}

/** The controllers, in this process. To be called before the cache is fed, because it files what the loops look up. */
export function controllersIn({
  eventRetentionDays,
  metrics,
  loops,
  policy,
  secrets,
  ...env
}: ControllersEnv): Controllers {
  defineIndexes(env.cache);
  return {
    async run(signal) {
      const leases = new EventLeases(env.store, env.clock, eventRetentionDays);
      const events = new EventWriter(leases, env.clock, env.random);
      const runtime: RuntimeEnv = {
        ...env,
        events,
        ...(metrics && { meter: loopMetrics(metrics) }),
        onFailure: error => {
          if (error instanceof LeaseGoneFault) leases.discard();
        },
      };
      await Promise.race([env.cache.ready, aborted(signal)]);
      const all = loops ?? [...allLoops(policy), ...(secrets ? secretLoops(secrets) : [])];
      await runLoops(all, runtime, signal);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
}
