import { SimProcess, type FaultProfile, type SimWorld } from '../../dev/simulation/index.js';

/** Tells a process to end, and answers when all its work has. Undefined for one that only dies. */
export type EndAgent = (() => Promise<void>) | undefined;

interface SeatParts {
  readonly faults: FaultProfile;
  readonly boot: (life: SimProcess) => EndAgent | void;
  /** Whether anything starts here now. */
  readonly mayStart?: () => boolean;
}

/** A process that is meant to run: ended and started again, one life after the other. */
export class Seat {
  readonly name: string;
  readonly #world: SimWorld;
  readonly #parts: SeatParts;
  #life: SimProcess | undefined;
  #end: EndAgent;

  constructor(name: string, world: SimWorld, parts: SeatParts) {
    this.name = name;
    this.#world = world;
    this.#parts = parts;
  }

  get life(): SimProcess | undefined {
    return this.#life?.alive ? this.#life : undefined;
  }

  /** Starts the process, unless it runs or nothing starts here. */
  start(): void {
    const { faults, boot, mayStart = () => true } = this.#parts;
    if (this.life || !mayStart()) return;
    this.#world.trace.add(`${this.name} starts`);
    this.#life = new SimProcess(this.name, this.#world, faults);
    this.#end = boot(this.#life) ?? undefined;
  }

  startLater(ms: number): void {
    this.#world.after(ms, `${this.name} is started again`, () => this.start());
  }

  /** Kills it, and has it started again after `ms`. */
  restart(ms: number): void {
    this.#life?.kill();
    this.startLater(ms);
  }

  /** Stops it by order, as a service manager does, and has it started again after `ms`, however far it has come with its end. */
  stop(ms: number): void {
    const [life, end] = [this.life, this.#end];
    life?.later(0, 'is told to end', () => void end?.().then(() => life.kill()));
    this.#world.after(ms, `${this.name} is started again`, () => {
      if (this.#life === life) life?.kill();
      this.start();
    });
  }
}
