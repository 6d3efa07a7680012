import type { Clock } from '../clock/index.js';
import { StoreUnavailableFault } from './faults.js';
import type { Revision } from './store.js';

/** How long a probed revision may stay unseen before a write under the root brings the watch along. */
const NUDGE_AFTER_MS = 50;

/** Probes under way at the same time: while the answers to one are used, the next one is on its way. */
const FLIGHTS = 2;

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
  /** When the cache shows what the probe found: one promise for all who share it. */
  readonly fresh: Promise<void>;
  readonly send: () => Promise<void>;
}

/** Tells when a cache shows everything that was stored before a question was asked. */
export class Freshness {
  readonly #options: FreshnessOptions;
  #seen: Revision = 0;
  #sleepers = new Set<Sleeper>();
  #next: Probe | undefined;
  #isDeferred = false;
  #flights = 0;
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
  barrier(): Promise<void> {
    // Only a probe that has not been sent yet is shared: one under way may be older than the caller's question.
    this.#next ??= this.#probe();
    const { fresh } = this.#next;
    this.#askSoon();
    return fresh;
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

  #probe(): Probe {
    const { promise, resolve, reject } = deferred<Revision>();
    const fresh = promise.then(revision => {
      if (this.#seen >= revision) return undefined;
      this.#nudgeSoon();
      return this.reached(revision);
    });
    return { fresh, send: () => this.#options.ask().then(resolve, reject) };
  }

  #askSoon(): void {
    if (this.#isDeferred || this.#flights >= FLIGHTS) return;
    this.#isDeferred = true;
    this.#options.defer(() => {
      this.#isDeferred = false;
      void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    const sent = this.#next;
    this.#next = undefined;
    this.#flights++;
    await sent?.send();
    this.#flights--;
    if (this.#next) this.#askSoon();
  }
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
