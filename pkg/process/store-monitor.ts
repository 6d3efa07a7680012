import { type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import type { Metrics } from '../metrics/index.js';
import type { StoreHealth } from '../store/index.js';
import { judgeRoom, type StoreRoom } from './store-room.js';

/** How full the store is, and whether it takes data. */
export interface StoreReport extends StoreHealth, StoreRoom {
  readonly quotaBytes: number;
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
      metrics.set('mooring_store_reserved', {}, room.isReserved ? 1 : 0);
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
      log.error('etcd is nearly full: tenants can only delete until it has room; see docs/OPERATIONS.md', {
        count: databaseBytes,
      });
    else if (nearsQuota) log.warn('etcd nears its quota; see docs/OPERATIONS.md', { count: databaseBytes });
    else log.info('etcd has space again', { count: databaseBytes });
  }
}
