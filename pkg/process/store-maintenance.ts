import { parseCompactionInterval, type Settings } from '../config/index.js';
import type { Metrics } from '../metrics/index.js';
import { compactPeriodically } from '../store/index.js';
import { AlarmEvents } from './alarm-events.js';
import type { ProcessEnv } from './index.js';
import { StoreMonitor } from './store-monitor.js';
import { type RecoverableStore, StoreRecovery } from './store-recovery.js';

export interface StoreMaintenanceOptions extends ProcessEnv {
  readonly store: RecoverableStore;
  readonly metrics: Metrics;
  readonly settings: Pick<Settings, 'etcdCompactEverySeconds' | 'etcdQuotaBytes' | 'eventRetentionDays'>;
}

/**
 * What every controllers process does for the store itself, whatever loops it leads, until `signal` is aborted: old history
 * is compacted, sizes and alarms are measured, alarms are announced as events, and room is made when there is none. Any number
 * of processes may.
 */
export async function maintainStore({ settings, ...env }: StoreMaintenanceOptions, signal: AbortSignal): Promise<void> {
  const quotaBytes = settings.etcdQuotaBytes;
  const alarms = new AlarmEvents({ ...env, eventRetentionDays: settings.eventRetentionDays });
  const monitor = new StoreMonitor({
    ...env,
    quotaBytes,
    announce: raised => alarms.announce(raised),
  });
  const compacting = compactPeriodically({ ...env, quotaBytes, everyMs: parseCompactionInterval(settings) }, signal);
  const recovery = new StoreRecovery({ ...env, quotaBytes, report: () => monitor.report });
  await Promise.all([compacting, monitor.run(signal), recovery.run(signal)]);
}
