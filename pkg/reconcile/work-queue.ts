import { setMaxListeners } from 'node:events';

import PQueue from 'p-queue';

import { type BackoffOptions, backoffMs, type Cancel, type Clock, type Random } from '../clock/index.js';
import type { ReconcileResult } from './loop.js';

/** From a twentieth of a second to five minutes: a conflict resolves at once, a permanent failure costs little. */
const DEFAULT_BACKOFF: BackoffOptions = { firstMs: 50, capMs: 300_000 };

/** Works on one key. When it throws, the key is retried with a growing delay. */
export type Work = (key: string, signal: AbortSignal) => Promise<ReconcileResult>;

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Keys worked on at the same time. */
  readonly concurrency?: number;
  readonly backoff?: BackoffOptions;
  /** Called whenever the number of waiting keys has changed. */
  readonly onDepth?: (keys: number) => void;
  /** Called with how long a key has waited, when work on it starts. */
  readonly onStart?: (key: string, waitedMs: number) => void;
}

/**
 * A queue of keys, not of events: a key that is added many times while it waits is worked on once.
 *
 * One key is never worked on twice at once. A key added while it is worked on is worked on once more afterwards, so no
 * change goes unseen. p-queue only bounds how many keys run at the same time.
 */
export class WorkQueue {
  readonly #work: Work;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: BackoffOptions;
  readonly #options: WorkQueueOptions;
  readonly #workers: PQueue;
  /** Keys that wait, each with the moment it was added. */
  readonly #waiting = new Map<string, number>();
  readonly #active = new Set<string>();
  readonly #delayed = new Map<string, { readonly due: number; readonly cancel: Cancel }>();
  readonly #failures = new Map<string, number>();
  readonly #abort = new AbortController();
  #closed = false;

  constructor(work: Work, options: WorkQueueOptions) {
    this.#work = work;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#backoff = options.backoff ?? DEFAULT_BACKOFF;
    this.#options = options;
    this.#workers = new PQueue({ concurrency: options.concurrency ?? 1 });
    setMaxListeners(0, this.#abort.signal); // any number of keys may be worked on aside
  }

  /** Keys that wait to be worked on now. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Keys whose delay has not passed yet. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** How many times in a row work on the key has failed. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Has the key worked on as soon as there is room, whatever delay it was under. */
  add(key: string): void {
    if (this.#closed) return;
    this.#undelay(key);
    if (this.#waiting.has(key)) return;

    this.#waiting.set(key, this.#clock.monotonic());
    this.#options.onDepth?.(this.depth);
    if (!this.#active.has(key)) this.#dispatch(key);
  }

  /** Adds the key after a while. Of several delays of one key the earliest counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) return this.add(key);
    if (this.#closed || this.#waiting.has(key)) return;

    const due = this.#clock.monotonic() + ms;
    const earlier = this.#delayed.get(key);
    if (earlier && earlier.due <= due) return;

    this.#undelay(key);
    this.#delayed.set(key, { due, cancel: this.#clock.after(ms, () => this.add(key)) });
  }

  /**
   * Takes no more keys and waits for the work under way. After `graceMs` the signal of that work is aborted; it is
   * waited for even then, so that no work runs after this has resolved.
   */
  async stop(graceMs: number): Promise<void> {
    this.#closed = true;
    for (const key of this.#delayed.keys()) this.#undelay(key);
    this.#waiting.clear();
    this.#workers.clear();
    this.#options.onDepth?.(0);

    if (graceMs <= 0) this.#abort.abort();
    const cancel = this.#clock.after(graceMs, () => this.#abort.abort());
    await this.#workers.onIdle();
    cancel();
  }

  /** Does a part of the work on a key that only waits, however long: another key has its place meanwhile. */
  async runAside<T>(act: () => Promise<T>): Promise<T> {
    this.#workers.concurrency++;
    try {
      return await act();
    } finally {
      this.#workers.concurrency--;
    }
  }

  #undelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  #dispatch(key: string): void {
    void this.#workers.add(() => this.#run(key));
  }

  async #run(key: string): Promise<void> {
    const added = this.#waiting.get(key);
    if (added === undefined) return; // the queue was stopped meanwhile
    this.#waiting.delete(key);
    this.#active.add(key);
    this.#options.onDepth?.(this.depth);
    this.#options.onStart?.(key, this.#clock.monotonic() - added);

    await this.#attempt(key);

    this.#active.delete(key);
    if (this.#waiting.has(key)) this.#dispatch(key);
  }

  async #attempt(key: string): Promise<void> {
    try {
      const next = await this.#work(key, this.#abort.signal);
      this.#failures.delete(key);
      if (next.kind === 'again') this.addAfter(key, next.afterMs);
    } catch {
      // The work has logged what it threw: here the key is only retried.
      const failures = this.failures(key) + 1;
      this.#failures.set(key, failures);
      this.addAfter(key, backoffMs(failures, this.#backoff, this.#random));
    }
  }
}
