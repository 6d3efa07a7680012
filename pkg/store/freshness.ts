import type { Clock } from '../clock/index.js';
import { StoreUnavailableFault } from './faults.js';
import type { Revision } from './store.js';

/** How long a probed revision may stay unseen before a write under the root brings the watch along. */
const NUDGE_AFTER_MS = 50;

export interface FreshnessOptions {
  readonly clock: Clock;
  /** The revision of a linearizable read. */
  readonly ask: () => Promise<Revision>;
  /** Writes something that the watch will see: the revision that is waited for may belong to a key outside the root. */
  readonly nudge: () => void;
  readonly deadlineMs: number;
  /** When to ask for those who have gathered: all of them share one probe. */
  readonly defer: (ask: () => void) => void;
}

interface Sleeper {
  readonly revision: Revision;
  readonly wake: () => void;
}

interface Probe {
  readonly answer: Promise<Revision>;
  readonly send: () => Promise<void>;
}

/** Tells when a cache shows everything that was stored before a question was asked. */
export class Freshness {
  readonly #options: FreshnessOptions;
  #seen: Revision = 0;
  #sleepers = new Set<Sleeper>();
  #next: Probe | undefined;
  #asking = false;
  #nudging = false;

  constructor(options: FreshnessOptions) {
    this.#options = options;
  }

  /** The cache now shows `revision`. It may be lower than before when the store was restored from a backup. */
  observed(revision: Revision): void {
    this.#seen = revision;
    if (this.#sleepers.size === 0) return;
    for (const sleeper of this.#sleepers) if (sleeper.revision <= revision) sleeper.wake();
  }

  /** Resolves when the cache shows everything that was stored before this call. */
  async barrier(): Promise<void> {
    const revision = await this.#probe();
    if (this.#seen >= revision) return;
    this.#nudgeSoon();
    await this.reached(revision);
  }

  /** Resolves when the cache shows `revision`. */
  reached(revision: Revision): Promise<void> {
    if (this.#seen >= revision) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const giveUp = this.#options.clock.after(this.#options.deadlineMs, () => {
        this.#sleepers.delete(sleeper);
        reject(new StoreUnavailableFault('the watch of the store fell behind'));
      });
      const wake = () => {
        giveUp();
        this.#sleepers.delete(sleeper);
        resolve();
      };
      const sleeper: Sleeper = { revision, wake };
      this.#sleepers.add(sleeper);
    });
  }

  #nudgeSoon(): void {
    if (this.#nudging) return;
    this.#nudging = true;
    this.#options.clock.after(NUDGE_AFTER_MS, () => {
      this.#nudging = false;
      if (this.#sleepers.size > 0) this.#options.nudge();
    });
  }

  /** A caller may share only a probe that has not been sent yet: one under way may be older than the caller's question. */
  #probe(): Promise<Revision> {
    this.#next ??= probe(this.#options.ask);
    const { answer } = this.#next;
    if (!this.#asking) {
      this.#asking = true;
      this.#options.defer(() => void this.#ask());
    }
    return answer;
  }

  async #ask(): Promise<void> {
    while (this.#next) {
      const { send } = this.#next;
      this.#next = undefined;
      await send();
    }
    this.#asking = false;
  }
}

function probe(ask: () => Promise<Revision>): Probe {
  const { promise, resolve, reject } = deferred<Revision>();
  return { answer: promise, send: () => ask().then(resolve, reject) };
}

function deferred<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
