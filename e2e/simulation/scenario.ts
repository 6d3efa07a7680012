import { expect } from 'chai';

import { calm, storm } from '../../pkg/simulation/index.js';
import { Chronicle } from './chronicle.js';
import { Cluster, type Variant } from './cluster.js';
import { expectConverged, inspectContainers } from './inspection.js';
import { endOrders, orderNodes } from './operators.js';
import { makeTrouble } from './trouble.js';
import { useCluster } from './users.js';

const STORM_MS = 60_000;
const ABSENCE_MS = 40_000;
const CONVERGE_WITHIN_MS = 300_000;
/** A cause that stands may be counted up once more within a minute; leaders note their last work within seconds. */
const AFTERMATH_MS = 75_000;
const QUIET_MS = 60_000;

/** How a seed went. */
export interface Outcome {
  readonly seed: number;
  readonly hash: string;
  readonly steps: number;
  /** Virtual time from the end of the trouble until everything was as asked. */
  readonly convergedAfterMs: number;
  /** Replicas that were given up with a lost node. */
  readonly givenUp: number;
  /** The longest virtual time for which a container that was given up ran beside another one of its slot. */
  readonly doubledMs: number;
}

/** A run that broke a promise. Carries what is needed to find out why. */
export class BrokenPromiseError extends Error {
  readonly seed: number;
  readonly tail: readonly string[];

  constructor(seed: number, cluster: Cluster, cause: unknown) {
    const what = cause instanceof Error ? cause.message : String(cause);
    super(`seed ${seed} at ${Math.round(cluster.world.time)} ms: ${what}`, { cause });
    this.name = 'BrokenPromiseError';
    this.seed = seed;
    this.tail = cluster.world.trace.tail;
  }
}

/**
 * One whole story: users ask for things while everything goes wrong; then one machine is away for long; then nothing goes
 * wrong any more, and everything must become as it was asked for, and then nothing may happen at all.
 */
export async function runScenario(seed: number, variant?: Variant): Promise<Outcome> {
  const cluster = new Cluster(seed, variant);
  try {
    return await tell(cluster, seed);
  } catch (thrown) {
    throw new BrokenPromiseError(seed, cluster, thrown);
  }
}

async function tell(cluster: Cluster, seed: number): Promise<Outcome> {
  const { world, weather } = cluster;
  const chronicle = new Chronicle(cluster.server);
  const { inspect, doubledMs } = inspector(cluster, chronicle);
  await cluster.begin();
  await world.pass(3_000, inspect);

  Object.assign(weather, storm);
  useCluster(cluster, chronicle, world.time + STORM_MS);
  makeTrouble(cluster, world.time + STORM_MS);
  orderNodes(cluster, world.time + STORM_MS);
  await world.pass(STORM_MS, inspect);

  Object.assign(weather, calm);
  cluster.start();
  await endOrders(cluster);
  // Long enough to be lost: its containers go on, and others are started in their place.
  world.pick(cluster.machines).seat.life?.kill();
  await world.pass(ABSENCE_MS, inspect);
  cluster.start();
  const convergedAfterMs = await converge(cluster, chronicle, inspect);
  chronicle.checkAnswers();

  await world.pass(AFTERMATH_MS, inspect);
  const before = await standing(cluster);
  await world.pass(QUIET_MS, inspect);
  expect(await standing(cluster), 'something happened though nothing was asked').to.deep.equal(before);
  expectConverged(cluster, chronicle);
  const { hash, steps } = world.trace;
  return { seed, hash, steps, convergedAfterMs, givenUp: chronicle.givenUp.size, doubledMs: doubledMs() };
}

async function converge(cluster: Cluster, chronicle: Chronicle, inspect: () => void): Promise<number> {
  const { world } = cluster;
  const from = world.time;
  for (;;) {
    await world.pass(1_000, inspect);
    try {
      expectConverged(cluster, chronicle);
      return world.time - from;
    } catch (thrown) {
      if (world.time - from >= CONVERGE_WITHIN_MS) throw thrown;
    }
  }
}

async function standing({ server, machines }: Cluster): Promise<unknown> {
  return { revision: await server.revision(), changes: machines.map(({ engine }) => engine.changes) };
}

/** Looks at the containers only when an engine has done something. */
function inspector(cluster: Cluster, chronicle: Chronicle) {
  let seen = -1;
  let since: number | undefined;
  let longest = 0;
  const inspect = () => {
    chronicle.inspect();
    let changes = 0;
    for (const { engine } of cluster.machines) changes += engine.changes;
    if (changes === seen) return;
    seen = changes;
    const { time } = cluster.world;
    const doubled = inspectContainers(cluster, chronicle) > 0;
    if (since !== undefined) longest = Math.max(longest, time - since);
    since = doubled ? (since ?? time) : undefined;
  };
  return { inspect, doubledMs: () => longest };
}
