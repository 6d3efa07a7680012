import type { Clock } from '../clock/index.js';
import { StoreUnavailableFault } from './faults.js';
import type { Revision } from './entry.js';

/** How long a probed revision may stay unseen before a write under the root brings the watch along. */
const FORCE_PROGRESS_AFTER_MS = 50;

/** Probes under way at the same time: while the answers to one are used, the next one is on its way. */
const FLIGHTS = 2;

export interface ReadBarrierOptions {
  readonly clock: Clock;
  /** The revision of a linearizable read. */
  readonly ask: () => Promise<Revision>;
  /** Writes something that the watch will see: the revision that is waited for may belong to a key outside the root. */
  readonly forceProgress: () => void;
  readonly deadlineMs: number;
  /** When to ask for those who have gathered: all of them share one probe. */
  readonly defer: (ask: () => void) => void;
}

interface BarrierWaiter {
  readonly revision: Revision;
  readonly wake: () => void;
}

interface RevisionProbe {
  /** When the cache shows what the probe found: one promise for all who share it. */
  readonly fresh: Promise<void>;
  readonly send: () => Promise<void>;
}

/** Resolves when a cache shows everything that was stored before a question was asked. */
export class ReadBarrier {
  readonly #options: ReadBarrierOptions;
  #seen: Revision = 0;
  #waiters = new Set<BarrierWaiter>();
  #next: RevisionProbe | undefined;
  #isDeferred = false;
  #flights = 0;
  #isForcing = false;

  constructor(options: ReadBarrierOptions) {
    this.#options = options;
  }

  /** The cache now shows `revision`. It may be lower than before when the store was restored from a backup. */
  observed(revision: Revision): void {
    this.#seen = revision;
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.wake();
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
        this.#waiters.delete(waiter);
        reject(new StoreUnavailableFault('the watch of the store fell behind'));
      });
      const wake = () => {
        giveUp();
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter: BarrierWaiter = { revision, wake };
      this.#waiters.add(waiter);
    });
  }

  #forceProgressSoon(): void {
    if (this.#isForcing) return;
    this.#isForcing = true;
    this.#options.clock.after(FORCE_PROGRESS_AFTER_MS, () => {
      this.#isForcing = false;
      if (this.#waiters.size > 0) this.#options.forceProgress();
    });
  }

  #probe(): RevisionProbe {
    const { promise, resolve, reject } = deferred<Revision>();
    let shown = 0;
    const fresh = promise.then(revision => {
      // What the cache shows is of a history that a restore has ended, until it is read again.
      if (revision < shown)
        throw new StoreUnavailableFault('the store was set back to an older state, which is being read');
      if (this.#seen >= revision) return undefined;
      this.#forceProgressSoon();
      return this.reached(revision);
    });
    const send = () => {
      shown = this.#seen;
      return this.#options.ask().then(resolve, reject);
    };
    return { fresh, send };
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
