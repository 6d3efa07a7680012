import { backoffMs, type Clock } from '../clock/index.js';
import type { Disk } from './disk.js';
import type { ContainerStatus } from './engine/index.js';

const FILE = 'restarts.json';
const RESTART_BACKOFF = { firstMs: 1_000, capMs: 60_000 };
const STEADY_MS = 60_000;
const LOOPING = 3;

interface RestartCounts {
  /** Restarts in all. */
  readonly restarts: number;
  /** Restarts since it last ran steadily. */
  readonly quick: number;
}

/**
 * How often each container had to be started again, and how long it must rest before the next time.
 *
 * The counts are on disk before a container is restarted, so that neither a crash of the agent nor a restart makes a
 * crash loop look new.
 */
export class RestartHistory {
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #kept: Map<string, RestartCounts>;
  readonly #runningSince = new Map<string, number>();
  readonly #endedAt = new Map<string, number>();
  #saved: Promise<void> = Promise.resolve();

  private constructor(clock: Clock, disk: Disk, kept: Map<string, RestartCounts>) {
    this.#clock = clock;
    this.#disk = disk;
    this.#kept = kept;
  }

  static async load(clock: Clock, disk: Disk): Promise<RestartHistory> {
    const text = await disk.read(FILE);
    const kept = text === undefined ? {} : (JSON.parse(text) as Record<string, RestartCounts>);
    return new RestartHistory(clock, disk, new Map(Object.entries(kept)));
  }

  restarts(uid: string): number {
    return this.#kept.get(uid)?.restarts ?? 0;
  }

  /** Whether it has ended again and again without ever running steadily. */
  isCrashLooping(uid: string): boolean {
    return (this.#kept.get(uid)?.quick ?? 0) >= LOOPING;
  }

  /** Takes note of how a container was seen. */
  observe(uid: string, { state }: Pick<ContainerStatus, 'state'>): void {
    const now = this.#clock.monotonic();
    if (state === 'running') {
      this.#endedAt.delete(uid);
      if (!this.#runningSince.has(uid)) this.#runningSince.set(uid, now);
    } else if (state === 'exited' && !this.#endedAt.has(uid)) {
      const since = this.#runningSince.get(uid) ?? now;
      this.#runningSince.delete(uid);
      this.#endedAt.set(uid, now);
      const kept = this.#kept.get(uid);
      if (kept && now - since >= STEADY_MS) this.#kept.set(uid, { ...kept, quick: 0 });
    }
  }

  /** What is left of the rest that a container takes after it ended: none at first, then longer and longer. */
  backoffMs(uid: string): number {
    const quick = this.#kept.get(uid)?.quick ?? 0;
    const ended = this.#endedAt.get(uid);
    if (quick === 0 || ended === undefined) return 0;

    return Math.max(0, ended + backoffMs(quick, RESTART_BACKOFF) - this.#clock.monotonic());
  }

  /** Counts a restart that is about to happen. */
  async countRestart(uid: string): Promise<void> {
    const { restarts, quick } = this.#kept.get(uid) ?? { restarts: 0, quick: 0 };
    this.#kept.set(uid, { restarts: restarts + 1, quick: quick + 1 });
    await this.#save();
  }

  /** The replica is gone for good. */
  async forget(uid: string): Promise<void> {
    this.#runningSince.delete(uid);
    this.#endedAt.delete(uid);
    if (this.#kept.delete(uid)) await this.#save();
  }

  /** One write after the other, so that an older count never lands on a newer one. */
  #save(): Promise<void> {
    const write = () => this.#disk.write(FILE, JSON.stringify(Object.fromEntries(this.#kept)));
    this.#saved = this.#saved.then(write, write);
    return this.#saved;
  }
}
