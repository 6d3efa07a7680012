import type { Cancel, Clock } from './index.js';

interface Timer {
  readonly due: number;
  readonly fire: () => void;
}

/** A clock that stands still until it is told to move. For tests: no test waits for real time to pass. */
export class ManualClock implements Clock {
  readonly #epoch: number;
  readonly #timers = new Set<Timer>();
  #time = 0;

  constructor(epoch = Date.UTC(2030, 0, 1)) {
    this.#epoch = epoch;
  }

  now(): number {
    return this.#epoch + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  after(ms: number, fire: () => void): Cancel {
    const timer = { due: this.#time + Math.max(0, ms), fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves on by `ms`: every timer that falls due fires in its turn, and what it sets off comes to rest before the next. */
  async pass(ms: number): Promise<void> {
    const until = this.#time + ms;
    await settle();
    for (let timer = this.#next(until); timer; timer = this.#next(until)) {
      this.#time = Math.max(this.#time, timer.due);
      this.#timers.delete(timer);
      timer.fire();
      await settle();
    }
    this.#time = until;
  }

  #next(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.due <= until && (!next || timer.due < next.due)) next = timer;
    return next;
  }
}

/** The same passing of time, with another wall clock: of a process whose clock is off, jumps or stands still. */
export function withWallClock(clock: Clock, now: () => number): Clock {
  return { now, monotonic: () => clock.monotonic(), after: (ms, fire) => clock.after(ms, fire) };
}

/** Resolves after everything that is ready to run has run. */
function settle(): Promise<void> {
  return new Promise(resolve => void setImmediate(resolve));
}
