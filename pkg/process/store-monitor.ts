import { type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import type { Metrics } from '../metrics/index.js';
import type { StoreHealth } from '../store/index.js';

/** How full the store is, and whether it takes data. */
export interface StoreReport extends StoreHealth {
  readonly quotaBytes: number;
  /** So full that an operator must act before etcd takes no more data. */
  readonly nearsQuota: boolean;
  /** What is left of the quota is kept for deletions, and for what loops and agents write: tenants store nothing else. */
  readonly isReserved: boolean;
}

export interface StoreMonitorOptions {
  readonly store: { health(): Promise<StoreHealth> };
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly quotaBytes: number;
  /** Announces the alarms that are raised; called at every look. Left out: another process does it. */
  readonly announce?: (alarms: readonly string[]) => Promise<void>;
}

const LOOK_EVERY_MS = 15_000;
/** While it fills: what is written between two looks must fit into what is kept free. */
const LOOK_SOON_MS = 1_000;
/** The share of the quota from which on operators are warned. */
const WARN_FROM = 0.8;
/**
 * The rest of the quota is kept for deletions, which etcd's alarm would end, from these shares on: of the file, which the
 * quota counts, and of what is in use of it. The smaller one: of a file that has filled, some 13 % are free and scattered.
 */
const RESERVE_FROM = { database: 0.95, used: 0.75 };
/** It ends a little lower, so that a few bytes do not let tenants in and out with every look. */
const RESERVE_UNTIL = { database: 0.93, used: 0.7 };

/** What a size means for a quota. One of 0 or less is unknown: nothing is warned of, and nothing kept. */
export function judgeRoom(
  { databaseBytes, usedBytes, alarms }: StoreHealth,
  quotaBytes: number,
  wasReserved: boolean,
): Pick<StoreReport, 'nearsQuota' | 'isReserved'> {
  if (quotaBytes <= 0) return { nearsQuota: false, isReserved: false };
  // At its quota etcd raises an alarm: without one, the quota that it has is larger than the one we were told of.
  const isLarger = databaseBytes > quotaBytes && alarms.length === 0;
  const { database, used } = wasReserved ? RESERVE_UNTIL : RESERVE_FROM;
  return {
    nearsQuota: databaseBytes >= WARN_FROM * quotaBytes,
    isReserved: !isLarger && databaseBytes >= database * quotaBytes && usedBytes >= used * quotaBytes,
  };
}

/** Looks at the store every now and then, for health, metrics and warnings. */
export class StoreMonitor {
  readonly #options: StoreMonitorOptions;
  #report: StoreReport | undefined;
  #warned = '';

  constructor(options: StoreMonitorOptions) {
    this.#options = options;
  }

  /** What was seen last; undefined before the first look. */
  get report(): StoreReport | undefined {
    return this.#report;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.look();
      await sleep(clock, this.#report?.nearsQuota ? LOOK_SOON_MS : LOOK_EVERY_MS, signal);
    }
  }

  async look(): Promise<void> {
    const { store, log, metrics, quotaBytes } = this.#options;
    try {
      const health = await store.health();
      const room = judgeRoom(health, quotaBytes, this.#report?.isReserved ?? false);
      this.#report = { ...health, quotaBytes, ...room };
      metrics.set('mooring_store_database_bytes', {}, health.databaseBytes);
      metrics.set('mooring_store_quota_bytes', {}, quotaBytes);
      metrics.set('mooring_store_alarms', {}, health.alarms.length);
      this.#warn(this.#report);
    } catch (thrown) {
      log.debug('the size of the store cannot be read', { error: asError(thrown) });
      return;
    }
    try {
      await this.#options.announce?.(this.#report.alarms);
    } catch (thrown) {
      log.debug('the alarms of the store could not be announced, retrying', { error: asError(thrown) });
    }
  }

  /** Once for each thing that is wrong, until it changes. */
  #warn({ alarms, databaseBytes, nearsQuota, isReserved }: StoreReport): void {
    const { log } = this.#options;
    const wrong = [...alarms, ...(nearsQuota ? ['filling'] : []), ...(isReserved ? ['reserved'] : [])].join();
    if (wrong === this.#warned) return;
    this.#warned = wrong;
    if (alarms.length > 0) log.error('etcd has raised an alarm; see docs/OPERATIONS.md', { because: alarms.join() });
    else if (isReserved)
      log.error('etcd is nearly full: tenants can only delete; see docs/OPERATIONS.md', { count: databaseBytes });
    else if (nearsQuota)
      log.warn('etcd nears its quota: defragment it; see docs/OPERATIONS.md', { count: databaseBytes });
    else log.info('etcd has space again', { count: databaseBytes });
  }
}
