import type { Cancel, Clock, Random } from '../../pkg/clock/index.js';
import type { FaultProfile } from './fault-profile.js';
import type { SimWorld } from './sim-world.js';

/** How long a caller waits for an answer. */
const DEADLINE_MS = 3_000;

/** Who a process talks to: a wire to one can break while the others hold. */
export type NetworkLink = 'store' | 'others' | 'engine' | 'peers';

const LINKS: readonly NetworkLink[] = ['store', 'others', 'engine', 'peers'];

/** The error of a call that fails on the way. */
export interface CallFaults {
  readonly wire: NetworkLink;
  /** It is certain that nothing was done. */
  readonly unreachable: () => Error;
  /** It may have been done. */
  readonly unknown: () => Error;
}

/**
 * One life of a simulated process, from its start to its kill.
 *
 * Everything that reaches the process comes through here: timers, answers, messages. After `kill` nothing does, so what
 * it was waiting for never arrives and no line of it runs again, as with `kill -9`. What it had asked others to do is
 * done all the same.
 */
export class SimProcess {
  readonly name: string;
  readonly world: SimWorld;
  readonly random: Random;
  readonly clock: Clock;
  readonly #faults: FaultProfile;
  readonly #ended = new AbortController();
  #alive = true;
  readonly #mourners = new Set<() => void>();
  #frozenUntil = 0;
  readonly #cutUntil: Record<NetworkLink, number> = { store: 0, others: 0, engine: 0, peers: 0 };
  readonly #bornAt: number;

  constructor(name: string, world: SimWorld, faults: FaultProfile) {
    this.name = name;
    this.world = world;
    this.#faults = faults;
    this.#bornAt = world.time;
    this.random = world.random;
    this.clock = {
      now: () => world.clock.now(),
      monotonic: () => world.clock.monotonic(),
      after: (ms, fire) => this.later(ms, 'timer', fire),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Aborted by the kill. For those outside who hold something for the process: the process itself never learns of it. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Calls back at the kill, unless the returned function was called before. Like `ended`, for those outside. */
  onEnd(tell: () => void): Cancel {
    this.#mourners.add(tell);
    return () => void this.#mourners.delete(tell);
  }

  get faults(): FaultProfile {
    return this.#faults;
  }

  /** For how long it has been at work without a break, in milliseconds. */
  get awakeMs(): number {
    return this.world.time - Math.max(this.#bornAt, this.#frozenUntil);
  }

  /** Whether the process is cut off. */
  cutOff(from: NetworkLink): boolean {
    return this.world.time < this.#cutUntil[from];
  }

  /** Ends the process at once, wherever it is. */
  kill(): void {
    this.world.trace.add(`${this.name} is killed`);
    this.#alive = false;
    this.#ended.abort();
    for (const tell of this.#mourners) tell();
    this.#mourners.clear();
  }

  /** The process does nothing for a while and does not notice. Time goes on meanwhile. */
  freeze(ms: number): void {
    this.#frozenUntil = this.world.time + ms;
  }

  /** Cuts the process off on these wires, in both directions, for a while. */
  isolate(ms: number, from: readonly NetworkLink[] = LINKS): void {
    for (const wire of from) this.#cutUntil[wire] = this.world.time + ms;
  }

  /** Has something happen inside the process, should it still live by then. */
  later(ms: number, label: string, act: () => void): Cancel {
    let cancel: Cancel = () => undefined;
    const arrive = () => {
      if (!this.alive) return;
      if (this.world.time >= this.#frozenUntil) {
        this.world.enter(this);
        return act();
      }
      cancel = this.world.after(this.#frozenUntil - this.world.time, `${this.name} thaws: ${label}`, arrive);
    };
    cancel = this.world.after(ms, `${this.name} ${label}`, arrive);
    return () => cancel();
  }

  /**
   * Sends a request to another process, over a wire on which requests and answers take time and are lost.
   *
   * A request that is on its way is carried out even when the process dies meanwhile. A process that dies in the middle of a step
   * sends nothing more in it.
   */
  call<T>(label: string, effect: () => Promise<T>, faults: CallFaults): Promise<T> {
    if (!this.alive) return new Promise(() => undefined);
    const { unreachable, lostReply, late, delayMs } = this.#faults;
    const { world } = this;
    const luck = world.random.next();
    const travelMs = world.between(0, delayMs);

    return new Promise((resolve, reject) => {
      const fail = (ms: number, error: () => Error) => this.later(ms, `${label} fails`, () => reject(error()));
      if (this.cutOff(faults.wire) || luck < unreachable)
        return void fail(world.between(0, DEADLINE_MS), faults.unreachable);

      const lost = luck < unreachable + lostReply;
      const tardy = !lost && luck < unreachable + lostReply + late;
      if (lost || tardy) fail(DEADLINE_MS, faults.unknown);
      world.after(tardy ? DEADLINE_MS + travelMs * 10 : travelMs, `${this.name} ${label}`, () => {
        effect().then(
          done => this.#answer(lost || tardy, label, () => resolve(done)),
          (error: unknown) => this.#answer(lost || tardy, label, () => reject(error)),
        );
      });
    });
  }

  #answer(lost: boolean, label: string, deliver: () => void): void {
    if (lost) return;
    this.later(this.world.between(0, this.#faults.delayMs), `${label} answered`, deliver);
  }
}
