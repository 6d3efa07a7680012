import type { SimWorld } from '../../dev/simulation/index.js';

/** How often agents measure where load moves the number of replicas. */
export const USAGE_MS = 5_000;

/** What every container uses: so many thousandths of a core, from one moment to the next. */
export class SimulatedLoad {
  readonly #world: SimWorld;
  #percent: number | undefined;
  #nanos = 0;
  #since = 0;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** Undefined: nobody can tell. */
  set(percent: number | undefined): void {
    this.#nanos = this.#count();
    this.#since = this.#world.time;
    this.#percent = percent;
  }

  /** As an engine counts it. */
  read(): { readonly cpuNanos: number; readonly memory: number } | undefined {
    return this.#percent === undefined ? undefined : { cpuNanos: this.#count(), memory: 0 };
  }

  #count(): number {
    return this.#nanos + (this.#world.time - this.#since) * (this.#percent ?? 0) * 1000;
  }
}
