import { backoffMs, type Clock } from '../clock/index.js';
import type { Disk } from './disk.js';
import type { ContainerStatus } from './engine/index.js';

const FILE = 'restarts.json';
const RESTART_BACKOFF = { firstMs: 1_000, capMs: 60_000 };
const STEADY_MS = 60_000;
const CRASH_LOOP_RESTARTS = 3;

interface RestartCounts {
  /** All restarts. */
  readonly restarts: number;
  /** Restarts since the container last ran for a minute. */
  readonly quick: number;
}

/**
 * Counts the restarts of each container and computes the back-off before the next one.
 *
 * The counts are on disk before a container is restarted, so a crash loop is still known after the agent itself restarts.
 */
export class RestartHistory {
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #counts: Map<string, RestartCounts>;
  readonly #runningSince = new Map<string, number>();
  readonly #endedAt = new Map<string, number>();
  #saved: Promise<void> = Promise.resolve();

  private constructor(clock: Clock, disk: Disk, counts: Map<string, RestartCounts>) {
    this.#clock = clock;
    this.#disk = disk;
    this.#counts = counts;
  }

  static async load(clock: Clock, disk: Disk): Promise<RestartHistory> {
    const text = await disk.read(FILE);
    const counts = text === undefined ? {} : (JSON.parse(text) as Record<string, RestartCounts>);
    return new RestartHistory(clock, disk, new Map(Object.entries(counts)));
  }

  restarts(uid: string): number {
    return this.#counts.get(uid)?.restarts ?? 0;
  }

  /** Whether the container exits again and again within a minute. */
  isCrashLooping(uid: string): boolean {
    return (this.#counts.get(uid)?.quick ?? 0) >= CRASH_LOOP_RESTARTS;
  }

  /** Records the observed state of a container. */
  observe(uid: string, { state }: Pick<ContainerStatus, 'state'>): void {
    const now = this.#clock.monotonic();
    if (state === 'running') {
      this.#endedAt.delete(uid);
      if (!this.#runningSince.has(uid)) this.#runningSince.set(uid, now);
    } else if (state === 'exited' && !this.#endedAt.has(uid)) {
      const since = this.#runningSince.get(uid) ?? now;
      this.#runningSince.delete(uid);
      this.#endedAt.set(uid, now);
      const counts = this.#counts.get(uid);
      if (counts && now - since >= STEADY_MS) this.#counts.set(uid, { ...counts, quick: 0 });
    }
  }

  /** What is left of the back-off after the container exited: none for the first restart, then doubling to a minute. */
  backoffMs(uid: string): number {
    const quick = this.#counts.get(uid)?.quick ?? 0;
    const ended = this.#endedAt.get(uid);
    if (quick === 0 || ended === undefined) return 0;

    return Math.max(0, ended + backoffMs(quick, RESTART_BACKOFF) - this.#clock.monotonic());
  }

  /** Counts a restart before it happens. */
  async countRestart(uid: string): Promise<void> {
    const { restarts, quick } = this.#counts.get(uid) ?? { restarts: 0, quick: 0 };
    this.#counts.set(uid, { restarts: restarts + 1, quick: quick + 1 });
    await this.#save();
  }

  /** Drops the counts of a removed replica. */
  async forget(uid: string): Promise<void> {
    this.#runningSince.delete(uid);
    this.#endedAt.delete(uid);
    if (this.#counts.delete(uid)) await this.#save();
  }

  /** Writes are serialised, so that an older count never overwrites a newer one. */
  #save(): Promise<void> {
    const write = () => this.#disk.write(FILE, JSON.stringify(Object.fromEntries(this.#counts)));
    this.#saved = this.#saved.then(write, write);
    return this.#saved;
  }
}
