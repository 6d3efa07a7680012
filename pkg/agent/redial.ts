import type { Clock } from '../clock/index.js';

const AT_MOST_EVERY_MS = 1_000;

/** Lets the stream of assignments be broken off on purpose, to begin anew with a snapshot. */
export class Redial {
  readonly #clock: Clock;
  readonly #end: AbortSignal;
  #current = new AbortController();
  #last = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, end: AbortSignal) {
    this.#clock = clock;
    this.#end = end;
  }

  /** Of the next stream: aborted when it is to be broken off, or at the end of everything. */
  signal(): AbortSignal {
    this.#current = new AbortController();
    return AbortSignal.any([this.#end, this.#current.signal]);
  }

  /**
   * Breaks off the stream there is, now and then at most: a snapshot that does not bring what was hoped for must not
   * lead to the next one at once.
   */
  again(): void {
    const now = this.#clock.monotonic();
    if (now - this.#last < AT_MOST_EVERY_MS) return;
    this.#last = now;
    this.#current.abort();
  }
}
