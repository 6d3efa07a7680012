import { cacheScope } from '../../crds/keys/index.js';
import { AgreedClock } from '../clock/agreed-clock.js';
import type { Clock } from '../clock/index.js';
import type { Settings } from '../config/index.js';
import type { Metrics } from '../metrics/index.js';
import { openSecretStore, type SecretStore } from '../secrets/index.js';
import { type EtcdStore, openEtcdStore, retryUntilReachable, WatchCache } from '../store/index.js';
import type { ProcessEnv } from './index.js';
import { findOwnNode, PlatformRecord } from './platform-record.js';

/** Stands for a machine that has a name that no node can have. No node is called so. */
const UNNAMED = 'UNNAMED';

/** The stores and the cache that server and controllers share. */
export interface ControlPlaneBackend {
  readonly store: EtcdStore;
  readonly secrets: SecretStore;
  readonly cache: WatchCache;
  /** The time that all processes of the control plane agree on. */
  readonly clock: Clock;
  /** Begins to fill the cache; `history` as of `WatchCache.run`. */
  fillCache(options?: { readonly history?: number }): void;
  /** Stops the cache, removes the record of this process and closes both stores, in this order. */
  close(): Promise<void>;
}

/**
 * Opens the stores that the settings name, waiting until they can be reached, and keeps the record that `program` runs on
 * this node. Undefined when `signal` was aborted first.
 */
export async function openBackend(
  program: string,
  settings: Settings,
  { metrics, ...env }: ProcessEnv & { readonly metrics: Metrics },
  signal: AbortSignal,
): Promise<ControlPlaneBackend | undefined> {
  const { random } = env;
  const node = findOwnNode(settings) ?? UNNAMED;
  const clock = new AgreedClock(env.clock, node);
  const store = openEtcdStore(settings, env);
  const secrets = await retryUntilReachable(() => openSecretStore(settings, { store, random }), env, signal);
  if (!secrets) {
    await store.close();
    return undefined;
  }
  await retryUntilReachable(() => store.reportVersion(), env, signal);
  const cache = new WatchCache({ ...env, store, defer: setImmediate, ...cacheScope });

  const stop = new AbortController();
  const ttlSeconds = settings.nodeFailedAfterSeconds;
  const onOffset = (ms: number) => metrics.set('mooring_clock_offset_seconds', {}, ms / 1000);
  const record = new PlatformRecord({ ...env, clock, cache, store, program, node, ttlSeconds, onOffset });
  const recording = record.run(stop.signal);
  let filling: Promise<void> = Promise.resolve();
  return {
    store,
    secrets,
    cache,
    clock,
    fillCache: options => {
      filling = record.tried.then(() => cache.run(stop.signal, options));
    },
    async close() {
      stop.abort();
      await Promise.all([filling, recording]);
      await secrets.close();
      await store.close();
    },
  };
}
