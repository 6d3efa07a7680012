import type { Clock } from '../clock/index.js';

/** Delays everything of one process: its timers do not fire while it is paused, though time goes on. */
export class PausableClock implements Clock {
  readonly #clock: Clock;
  readonly #held: (() => void)[] = [];
  paused = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, fire: () => void) {
    return this.#clock.after(ms, () => (this.paused ? void this.#held.push(fire) : fire()));
  }

  resume(): void {
    this.paused = false;
    for (const fire of this.#held.splice(0)) fire();
  }
}
