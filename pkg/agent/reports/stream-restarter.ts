import type { Clock } from '../../clock/index.js';

const RESTART_EVERY_MS = 1_000;

/** Restarts the assignment stream on request, so that it begins with a fresh snapshot. */
export class StreamRestarter {
  readonly #clock: Clock;
  readonly #end: AbortSignal;
  #current = new AbortController();
  #last = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, end: AbortSignal) {
    this.#clock = clock;
    this.#end = end;
  }

  /** The signal of the next stream: aborted by `restart`, or when the agent stops. */
  signal(): AbortSignal {
    this.#current = new AbortController();
    return AbortSignal.any([this.#end, this.#current.signal]);
  }

  /** Ends the current stream, at most once a second: a snapshot without the expected ticket must not cause a loop. */
  restart(): void {
    const now = this.#clock.monotonic();
    if (now - this.#last < RESTART_EVERY_MS) return;
    this.#last = now;
    this.#current.abort();
  }
}
