import type { ContainerHealth } from '../../../../crds/report/index.js';
import type { ContainerOrder, SeenContainer } from '../engine.js';

/** One container of the simulated engine. */
export class SimulatedContainer {
  readonly #checked: boolean;
  #seen: SeenContainer;
  #run = 0;

  constructor(id: string, { name, owner, healthCheck }: ContainerOrder) {
    this.#checked = healthCheck !== undefined;
    this.#seen = { id, name, owner, state: 'created', health: 'none', exitCode: undefined };
  }

  get seen(): SeenContainer {
    return this.#seen;
  }

  /** Counts the starts, so that what belongs to an earlier run can be told. */
  get run(): number {
    return this.#run;
  }

  set health(health: ContainerHealth) {
    this.#seen = { ...this.#seen, health };
  }

  /** Answers the number of the run that began. */
  start(): number {
    this.#seen = { ...this.#seen, state: 'running', health: this.#checked ? 'starting' : 'none', exitCode: undefined };
    this.#run++;
    return this.#run;
  }

  /** Does nothing to a container that does not run. */
  exit(exitCode: number): void {
    if (this.#seen.state === 'running') this.#seen = { ...this.#seen, state: 'exited', exitCode };
  }
}
