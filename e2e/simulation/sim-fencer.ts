import type { SimProcess, SimWorld, VolumeDisk } from '../../dev/simulation/index.js';
import type { ContainerMount, Fencer, FencerDeadline, SimulatedEngine } from '../../pkg/agent/index.js';

/** How often it looks. */
export const FENCER_LOOK_MS = 500;
/** As for a container that the kernel has killed. */
const KILLED = 137;

/** What a fencer finds and kills without its agent. */
interface FencedMachine {
  readonly engine: SimulatedEngine;
  readonly disk: VolumeDisk;
  readonly mounts: ReadonlyMap<string, readonly ContainerMount[]>;
  readonly stillForMs: number;
}

/** The fencer of a machine: agents come and go, and it kills what writes without any engine. */
export class SimFencer {
  readonly #world: SimWorld;
  readonly #machine: FencedMachine;
  #deadlines: readonly FencerDeadline[] = [];
  #isLooking = false;

  constructor(world: SimWorld, machine: FencedMachine) {
    this.#world = world;
    this.#machine = machine;
  }

  /** As one life of an agent reaches it. */
  reachedBy(life: SimProcess): Fencer {
    const arm = (deadlines: readonly FencerDeadline[]) => {
      if (!life.alive) return new Promise<void>(() => undefined);
      this.#deadlines = deadlines;
      if (!this.#isLooking) this.#look();
      return Promise.resolve();
    };
    return { arm };
  }

  /** The machine boots: what was armed was in memory. */
  forget(): void {
    this.#deadlines = [];
  }

  #look(): void {
    this.#isLooking = this.#deadlines.length > 0;
    if (!this.#isLooking) return;
    this.#world.after(this.#machine.stillForMs + FENCER_LOOK_MS, 'a fencer looks', () => {
      if (this.#machine.stillForMs > 0) return this.#look();
      const passed = this.#deadlines.filter(({ at }) => this.#world.clock.monotonic() >= at);
      if (passed.length > 0) this.#kill(new Set(passed.map(({ volume }) => volume)));
      this.#look();
    });
  }

  #kill(volumes: ReadonlySet<string>): void {
    const { engine, disk, mounts } = this.#machine;
    for (const { id, state } of engine.containers) {
      const own = (state === 'running' && mounts.get(id)) || [];
      if (own.some(mount => mount.kind === 'bind' && !mount.readOnly && volumes.has(disk.findMounted(mount.source).id)))
        engine.crash(id, KILLED);
    }
  }
}
