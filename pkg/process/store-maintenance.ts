import { parseCompactionInterval, type Settings } from '../config/index.js';
import type { Metrics } from '../metrics/index.js';
import { compactPeriodically, type Revision, type Store, type StoreHealth } from '../store/index.js';
import { AlarmEvents } from './alarm-events.js';
import type { ProcessEnv } from './index.js';
import { StoreMonitor } from './store-monitor.js';

export interface StoreMaintenanceOptions extends ProcessEnv {
  readonly store: Store & { compact(revision: Revision): Promise<void>; health(): Promise<StoreHealth> };
  readonly metrics: Metrics;
  readonly settings: Pick<Settings, 'etcdCompactEverySeconds' | 'etcdQuotaBytes' | 'eventRetentionDays'>;
}

/**
 * What every controllers process does for the store itself, whatever loops it leads, until `signal` is aborted: old history
 * is compacted, sizes and alarms are measured, and alarms are announced as events. Any number of processes may.
 */
export async function maintainStore({ settings, ...env }: StoreMaintenanceOptions, signal: AbortSignal): Promise<void> {
  const alarms = new AlarmEvents({ ...env, eventRetentionDays: settings.eventRetentionDays });
  const monitor = new StoreMonitor({
    ...env,
    quotaBytes: settings.etcdQuotaBytes,
    announce: raised => alarms.announce(raised),
  });
  const compacting = compactPeriodically(
    { ...env, quotaBytes: settings.etcdQuotaBytes, everyMs: parseCompactionInterval(settings) },
    signal,
  );
  await Promise.all([compacting, monitor.run(signal)]);
}
