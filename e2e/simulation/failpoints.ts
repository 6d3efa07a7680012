import { type FailpointName, observeFailpoints, failpoints } from '../../pkg/failpoint/index.js';
import type { SimCluster } from './cluster.js';

/** What no simulated process passes, by the beginning of its name, and why. */
const UNREACHED = {
  'volume.':
    'inside the drivers of a real disk, which a simulated one takes the place of; their tests fail there. Not so those of copies',
  'agent.network_':
    "inside the driver of Docker, which the simulated engine takes the place of; the story 'networks' kills there",
} as const;

/** The steps of what agents do about copies, which are passed where there are any. */
export const copyPoints: readonly FailpointName[] = [
  'volume.snapshot_taken',
  'volume.sending',
  'volume.synced',
  'volume.copy_promoted',
  'volume.set_aside',
  'volume.final_taken',
];

/** What every world can pass. */
const commonPoints = (Object.keys(failpoints) as readonly FailpointName[]).filter(
  name => !Object.keys(UNREACHED).some(prefix => name.startsWith(prefix)),
);

/** Every point that a world can pass. */
export const reachedPoints: readonly FailpointName[] = [...commonPoints, ...copyPoints];

/** At which pass of its point a process dies: of most points there are few in a world. */
const PASSES = [1, 1, 1, 2, 3] as const;
/** Some of the others, at any of their passes: deaths at two points may be worse than either. */
const OTHERS = 0.12;
const OTHER_PASSES = [1, 1, 2, 4, 8] as const;
const REST = 0.3;
const OF_COPIES = 0.4;
const OF_AGENTS = /^(agent|volume)\./;
/** Few requests bring secrets: these are armed more often. */
const SELDOM = 'material.';

/**
 * Kills processes of a world at failpoints: the one that passes the point dies before its next instruction, and is started again
 * a while later. Each seed has a point of its own, one after the other, and some of the others by chance.
 */
export class FailpointKills {
  readonly passed = new Set<FailpointName>();
  readonly killed = new Set<FailpointName>();
  readonly #cluster: SimCluster;
  readonly #left = new Map<FailpointName, number>();
  #violation: Error | undefined;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  /** Watches every pass, until the returned function is called. */
  watch(): () => void {
    return observeFailpoints(name => this.#pass(name));
  }

  /** Chooses where processes die from now on. */
  arm(seed: number): void {
    const { world } = this.#cluster;
    for (const name of commonPoints) {
      if (name.startsWith(SELDOM)) this.#left.set(name, world.chance(0.5) ? 1 : 0);
      else if (world.chance(OTHERS)) this.#left.set(name, world.pick(OTHER_PASSES));
    }
    this.#left.set(commonPoints[seed % commonPoints.length]!, world.pick(PASSES));
    if (!this.#cluster.mix.hasCopies) return;
    for (const name of copyPoints) if (world.chance(OF_COPIES)) this.#left.set(name, world.pick(OTHER_PASSES));
  }

  /** Has the process die that passes a point next. */
  armNext(name: FailpointName): void {
    this.#left.set(name, 1);
  }

  /** Points that were not passed so far are seldom passed: some of them are armed for the rest. */
  armRest(): void {
    const { world } = this.#cluster;
    for (const name of commonPoints) if (!this.passed.has(name) && world.chance(REST)) this.#left.set(name, 1);
  }

  disarm(): void {
    this.#left.clear();
  }

  /** Throws when a point was passed by no process that is known. */
  inspect(): void {
    if (this.#violation) throw this.#violation;
  }

  #pass(name: FailpointName): void {
    const { world, machines, seats } = this.#cluster;
    const { actor } = world;
    if (actor?.alive === false) return; // the rest of a step in which it has died
    const isAgent = !seats.some(seat => seat.life === actor) || machines.some(({ seat }) => seat.life === actor);
    if (!actor || isAgent !== OF_AGENTS.test(name))
      this.#violation ??= new Error(`failpoint ${name} was passed by ${actor?.name ?? 'nobody'}`);
    this.passed.add(name);
    const left = (this.#left.get(name) ?? 0) - 1;
    if (left < 0) return;
    this.#left.set(name, left);
    const seat = seats.find(({ life }) => life === actor);
    if (left > 0 || !seat) return;
    this.#left.delete(name);
    this.killed.add(name);
    world.trace.add(`failpoint ${name}`);
    seat.restart(world.between(100, 15_000));
  }
}
