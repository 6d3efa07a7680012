import { SimProcess, type FaultProfile, type SimWorld } from '../../dev/simulation/index.js';

/** A process that is meant to run: killed and started again, one life after the other. */
export class Seat {
  readonly name: string;
  readonly #world: SimWorld;
  readonly #faults: FaultProfile;
  readonly #boot: (life: SimProcess) => void;
  #life: SimProcess | undefined;

  constructor(name: string, world: SimWorld, faults: FaultProfile, boot: (life: SimProcess) => void) {
    this.name = name;
    this.#world = world;
    this.#faults = faults;
    this.#boot = boot;
  }

  get life(): SimProcess | undefined {
    return this.#life?.alive ? this.#life : undefined;
  }

  /** Starts the process, unless it runs. */
  start(): void {
    if (this.life) return;
    this.#world.trace.add(`${this.name} starts`);
    this.#life = new SimProcess(this.name, this.#world, this.#faults);
    this.#boot(this.#life);
  }

  /** Kills it, and has it started again after `ms`. */
  restart(ms: number): void {
    this.#life?.kill();
    this.#world.after(ms, `${this.name} is started again`, () => this.start());
  }
}
