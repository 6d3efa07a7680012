import { ranges } from '../../../crds/keys/index.js';
import { countLagSeconds, type VolumeStatus } from '../../../crds/volume/index.js';
import type { Clock } from '../../../pkg/clock/index.js';
import { isSetBack } from '../../../pkg/link/index.js';
import { type Cache, type LeaderRecord, listValues, value } from '../../../pkg/store/index.js';
import type { Metrics } from '../../../pkg/metrics/index.js';
import type { StoreReport } from '../../../pkg/process/store-monitor.js';
import { replyJson } from '../../http/reply.js';
import type { Route, RouteResult } from '../../http/route.js';

/** What health is read from. */
export interface HealthEnv {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Brings the metrics of what is open up to date. */
  readonly seats: { publish(): void };
  /** How full the store is; undefined while that is not known. Left out: it is never known. */
  readonly storeReport?: () => StoreReport | undefined;
}

/** Health and metrics: open, so they name no address, no tenant and no object. */
export function createHealthRoutes(env: HealthEnv): readonly Route[] {
  const open = { method: 'GET', access: 'open', tenant: 'none', query: [], body: 'none' } as const;
  const loops = new Set<string>();
  return [
    { ...open, isProbe: true, path: '/healthz', handle: () => health(env, loops) },
    { ...open, isProbe: true, path: '/livez', handle: () => replyJson(200, { status: 'ok' }) },
    { ...open, isProbe: true, path: '/readyz', handle: () => ready(env) },
    { ...open, path: '/metrics', handle: () => metrics(env) },
  ];
}

/** `loops` remembers every loop that ever led while this server ran, so that one that has stopped is missed. */
function health({ cache, storeReport }: HealthEnv, loops: Set<string>): RouteResult {
  const leaders = new Map<string, LeaderRecord>();
  for (const entry of cache.list(ranges.leaders)) {
    const loop = entry.key.slice(ranges.leaders.length);
    loops.add(loop);
    leaders.set(loop, value<LeaderRecord>(entry));
  }
  const controllers = Object.fromEntries(
    [...loops].toSorted().map(loop => {
      const leader = leaders.get(loop);
      return [loop, { leader: leader !== undefined, lastReconcileAt: leader?.lastReconcileAt ?? null }];
    }),
  );
  const report = storeReport?.();
  const isWell = cache.connected && leaders.size === loops.size && (report?.alarms.length ?? 0) === 0;
  const status = isWell ? 'ok' : 'degraded';
  return replyJson(isWell ? 200 : 503, { status, store: { connected: cache.connected, ...report }, controllers });
}

function ready({ cache }: HealthEnv): RouteResult {
  return cache.connected ? replyJson(200, { status: 'ok' }) : replyJson(503, { status: 'degraded' });
}

async function metrics({ metrics: measured, seats, cache, clock }: HealthEnv): Promise<RouteResult> {
  seats.publish();
  const lags = listValues<VolumeStatus>(cache, ranges.volumeStatuses).flatMap(status =>
    status.copies.map(copy => countLagSeconds(copy, clock.now(), status)),
  );
  const greatest = lags.reduce<number>((most, lag = 0) => Math.max(most, lag), 0);
  measured.set('mooring_volume_lag_seconds', {}, greatest);
  measured.set('mooring_volume_incomplete_copies', {}, lags.filter(lag => lag === undefined).length);
  measured.set('mooring_store_set_back', {}, isSetBack(cache) ? 1 : 0);
  return { status: 200, type: measured.contentType, body: Buffer.from(await measured.text()) };
}
