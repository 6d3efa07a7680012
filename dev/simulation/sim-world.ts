import { type Cancel, type Clock, type Random, seededRandom } from '../../pkg/clock/index.js';
import { EventQueue, type SimEvent } from './event-queue.js';
import { Trace } from './trace.js';

const EPOCH = Date.UTC(2030, 0, 1);
/** In one of so many worlds every step ends with a turn of the event loop: a rejection that is handled too late is noticed there, as Node does. */
const TURN_WORLDS = 8;
/** In all others only one of so many steps does: timers of the machine fire also while a world comes no further. */
const TURN_STEPS = 256;

/** Who acts in a step: a process, in one of its lives. */
export interface Actor {
  readonly name: string;
  readonly alive: boolean;
}

/**
 * A world with its own time, in which one thing happens after the other.
 *
 * Everything that would be left to chance or to the machine (what comes first, how long a message takes, what is lost)
 * is drawn from one seeded source, so the same seed gives the same history.
 */
export class SimWorld {
  readonly random: Random;
  readonly trace = new Trace();
  /** The world's own clock, for what outlives every process: stores, engines. */
  readonly clock: Clock = {
    now: () => EPOCH + Math.floor(this.#time),
    monotonic: () => this.#time,
    after: (ms, fire) => this.after(ms, 'timer', fire),
  };
  readonly #queue = new EventQueue();
  #time = 0;
  #actor: Actor | undefined;
  #settle = finishJobs;
  #steps = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    if (seed % TURN_WORLDS === 0) this.awaitStreams();
  }

  /** Milliseconds since the beginning. */
  get time(): number {
    return this.#time;
  }

  /** Whose code runs in this step; undefined while none does. */
  get actor(): Actor | undefined {
    return this.#actor;
  }

  /** From here on the code of a process runs, up to the end of the step. */
  enter(actor: Actor): void {
    this.#actor = actor;
  }

  /** From here on steps set off what takes ticks of its own to come to rest: a stream of Node. */
  awaitStreams(): void {
    this.#settle = finishTicks;
  }

  /** Has something happen after `ms`. */
  after(ms: number, label: string, run: () => void): Cancel {
    const item: SimEvent = { due: this.#time + Math.max(0, ms), label, run, cancelled: false };
    this.#queue.add(item);
    return () => {
      item.cancelled = true;
    };
  }

  /** True about `share` of the times it is asked. */
  chance(share: number): boolean {
    return this.random.next() < share;
  }

  /** A number of milliseconds from `low` up to `high`. */
  between(low: number, high: number): number {
    return low + this.random.next() * (high - low);
  }

  /** One of several. */
  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random.next() * from.length)]!;
  }

  /** Resolves after all that can happen without the passing of time. */
  rest(): Promise<void> {
    return finishTicks();
  }

  /** Lets `ms` pass, step by step. `inspect` looks at the world after each step; what it throws ends the run. */
  async pass(ms: number, inspect: () => void = () => undefined): Promise<void> {
    const until = this.#time + ms;
    await this.rest();
    for (let item = this.#queue.take(until, this.random); item; item = this.#queue.take(until, this.random)) {
      this.#time = Math.max(this.#time, item.due);
      this.trace.add(`${Math.round(this.#time)} ${item.label}`);
      this.#actor = undefined;
      item.run();
      this.#steps++;
      await (this.#steps % TURN_STEPS === 0 ? finishTicks() : this.#settle());
      inspect();
    }
    this.#time = Math.max(this.#time, until);
  }
}

/** Resolves after every promise job that the last step has set off, and those that these have set off: Node runs them before the next tick. */
function finishJobs(): Promise<void> {
  return new Promise(resolve => process.nextTick(resolve));
}

/** Resolves after the ticks as well. A turn of the event loop costs as much as a small step. */
function finishTicks(): Promise<void> {
  return new Promise(resolve => void setImmediate(resolve));
}
