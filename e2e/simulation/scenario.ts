import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { NodePresence } from '../../crds/node/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import { restoreBackup } from './backup.js';
import type { FailpointName } from '../../pkg/failpoint/index.js';
import { FailpointKills } from './failpoints.js';
import { History } from './history.js';
import { SimCluster, TENANTS, UNDER_WAY_MS } from './cluster.js';
import { ContainerWatch } from './availability.js';
import { expectConverged } from './inspection.js';
import { createInspector } from './inspector.js';
import { expectNetworksKept } from './networks.js';
import { endOrders, haveAgentsTell } from './operators.js';
import { settleOwners } from './owners.js';
import { setQuota, countUsed } from './platform.js';
import { countAll, invariants } from './invariants.js';
import { bringHome } from './copies.js';
import { createClockInvariant } from './clocks.js';
import { CopyInvariants } from './copy-invariants.js';
import { CopyStory } from './copy-story.js';
import { AttemptWatch, makesOneAttempt } from './jobs.js';
import { takeAbroad } from './residency.js';
import { createRestInvariant } from './rest.js';
import { createRolloutInvariants } from './rollout-invariants.js';
import { endRollouts } from './rollouts.js';
import { endScaling, expectScaled } from './scaling.js';
import { createScheduleInvariant, endSchedules } from './schedules.js';
import { endRotations } from './secrets.js';
import { duplicateMachine } from './second-agent.js';
import { loseEngine, passStorm } from './storm.js';
import { put } from './users.js';
import type { Variant } from './variant.js';
import { createVolumeInvariants } from './volume-invariants.js';
import { VolumeStory } from './volume-story.js';
import { VolumeWatch } from './volume-watch.js';
import { endVolumes } from './volumes.js';

const ABSENCE_MS = 30_000;
const CONVERGE_WITHIN_MS = 150_000;
/** The event of a persistent cause may be counted up once within a minute. */
const AFTERMATH_MS = 75_000;
const DEADLINE_MS = 600_000;
/** A rollout is complete when its replicas have been ready for some seconds. */
const LAST_WORK_MS = 10_000;
const QUIET_MS = 40_000;
/** A node forgets by then that a second agent came for it. */
const RIVAL_FORGOTTEN_MS = 210_000;
const SEEDS_A_RESTORE = 5;
/** What was last written is copied, and that is told, by then. */
const COPIED_MS = 30_000;

/** How a seed went. */
export interface Outcome {
  readonly seed: number;
  readonly hash: string;
  readonly steps: number;
  /** Virtual time from the end of the trouble until everything was as asked. */
  readonly convergedAfterMs: number;
  /** Replicas that were given up with a lost node. */
  readonly givenUp: number;
  /** How often a machine was enrolled as a node. */
  readonly enrolled: number;
  /** How often the secrets of a container were handed out. */
  readonly delivered: number;
  /** How many canaries began, and how many were taken back. */
  readonly canaries: number;
  readonly aborted: number;
  /** How often load moved the number of replicas. */
  readonly scaled: number;
  /** To how many volumes something was written. */
  readonly writtenVolumes: number;
  /** The longest virtual time for which a container that was given up ran beside another one of its slot. */
  readonly doubledMs: number;
  /** The failpoints that were passed, and those at which a process was killed. */
  readonly passed: readonly FailpointName[];
  readonly killed: readonly FailpointName[];
}

/** A run that broke a promise. Carries what is needed to find out why. */
export class BrokenPromiseError extends Error {
  readonly seed: number;
  readonly steps: number;
  readonly tail: readonly string[];

  constructor(seed: number, cluster: SimCluster, cause: unknown) {
    const what = cause instanceof Error ? cause.message : String(cause);
    super(`seed ${seed} at ${Math.round(cluster.world.time)} ms: ${what}`, { cause });
    this.name = 'BrokenPromiseError';
    this.seed = seed;
    this.steps = cluster.world.trace.steps;
    this.tail = cluster.world.trace.tail;
  }
}

/**
 * One whole story: users ask for things while everything goes wrong; then one machine is away for long; then nothing goes
 * wrong any more, and everything must become as it was asked for, and then nothing may happen at all.
 */
export async function runScenario(seed: number, variant?: Variant): Promise<Outcome> {
  const cluster = new SimCluster(seed, variant);
  const kills = new FailpointKills(cluster);
  const stopWatching = kills.watch();
  try {
    return await tell(cluster, kills, seed);
  } catch (thrown) {
    throw new BrokenPromiseError(seed, cluster, thrown);
  } finally {
    stopWatching();
    cluster.end();
    await cluster.world.rest();
  }
}

async function tell(cluster: SimCluster, kills: FailpointKills, seed: number): Promise<Outcome> {
  const { world } = cluster;
  const attempts = new AttemptWatch();
  const containers = new ContainerWatch();
  const { scaled, hasVolumes, hasCopies, isMovedAbroad } = cluster.mix;
  const volumes = hasVolumes ? new VolumeWatch(cluster, () => history) : undefined;
  const ofCopies = hasCopies ? [new CopyInvariants(cluster).holds] : [];
  const ofVolumes = volumes ? [volumes.note, ...createVolumeInvariants(cluster), ...ofCopies] : [];
  const watches = [
    createRestInvariant(world),
    containers.note,
    makesOneAttempt,
    attempts.keepsEnds,
    createScheduleInvariant(world.clock),
    createClockInvariant(world.clock),
    ...ofVolumes,
  ];
  const history: History = new History(cluster.server, [...invariants, ...createRolloutInvariants(world), ...watches]);
  cluster.handedOut = ticket => history.handedOut(ticket);
  const { inspect, doubledMs } = createInspector(cluster, history, { attempts, containers, kills, volumes });
  await cluster.begin();
  attempts.endPrograms(cluster);
  volumes?.useBytes();
  await world.pass(5_000, inspect);

  kills.arm(seed);
  await passStorm(cluster, history, inspect);
  kills.armRest();
  if (seed % 3 === 0 && !hasCopies) await loseEngine(cluster, inspect);
  // Long enough to be lost: its containers go on, and others are started in their place.
  world.pick(cluster.machines).seat.life?.kill();
  await world.pass(ABSENCE_MS, inspect);
  cluster.start();
  const convergedAfterMs = await converge(cluster, history, inspect);
  kills.disarm();
  history.checkAnswers();
  if (volumes) {
    const parts = { cluster, history, watch: volumes, inspect };
    if (hasCopies) await new CopyStory(parts, name => kills.armNext(name)).tell(seed);
    else await new VolumeStory(parts).tell();
    kills.disarm();
    await converge(cluster, history, inspect);
    volumes.isResting = hasCopies; // what is written is told of
  }
  if (scaled) {
    await expectScaled(cluster, history, inspect, scaled);
    await converge(cluster, history, inspect);
  }
  if (isMovedAbroad) await takeAbroad(cluster, () => converge(cluster, history, inspect));
  if (seed % 7 === 0 && !hasCopies) {
    containers.hasDoubles = true;
    await duplicateMachine(cluster, inspect);
    await converge(cluster, history, inspect);
    containers.hasDoubles = false;
  }

  const givenUp = history.givenUp.size;
  if (seed % Math.ceil(SEEDS_A_RESTORE / (cluster.pace.restores ?? 1)) === 0) {
    const settle = () => converge(cluster, history, inspect);
    const onRestored = () => volumes?.noteRestore();
    const onDeclared = () => {
      if (volumes) volumes.isSetBack = false;
    };
    await restoreBackup(cluster, history, { underWayMs: UNDER_WAY_MS, inspect, settle, onRestored, onDeclared });
  }

  if (hasCopies) await world.pass(COPIED_MS, inspect);
  else await expectNetworksKept(cluster, history, inspect);
  // One or the other: each takes long, and there are seeds enough.
  if (seed % 2 === 0) await expectQuiet(cluster, history, inspect);
  else await lowerAndRaise(cluster, history, inspect);
  await expectCounted(cluster, history, inspect);
  const { hash, steps } = world.trace;
  const { enrolled, delivered } = history;
  const told = (type: string) => history.all<StoredEvent>(ranges.events).filter(event => event.type === type).length;
  const [canaries, aborted] = [told('deployment.canary_started'), told('deployment.canary_aborted')];
  const counts = { enrolled, delivered, givenUp, canaries, aborted, scaled: told('deployment.scaled') };
  const { writtenVolumes = 0 } = volumes ?? {};
  const at = { passed: [...kills.passed].toSorted(), killed: [...kills.killed].toSorted() };
  return { seed, hash, steps, convergedAfterMs, ...counts, ...at, writtenVolumes, doubledMs: doubledMs() };
}

async function converge(cluster: SimCluster, history: History, inspect: () => void): Promise<number> {
  const { world } = cluster;
  const from = world.time;
  for (;;) {
    for (const tenant of TENANTS) void setQuota(cluster, tenant, {});
    void endRotations(cluster);
    await endRollouts(cluster);
    await endScaling(cluster);
    endSchedules(cluster, history);
    if (cluster.mix.hasVolumes) endVolumes(cluster, history);
    if (cluster.mix.hasCopies) bringHome(cluster);
    if (cluster.mix.hasCopies) haveAgentsTell(cluster, history);
    await endOrders(cluster); // a request of the storm may have been settled since
    await settleOwners(cluster);
    await world.pass(1_000, inspect);
    try {
      expectConverged(cluster, history);
      return world.time - from;
    } catch (thrown) {
      if (world.time - from >= CONVERGE_WITHIN_MS) throw thrown;
    }
  }
}

/** A quota that is lowered takes nothing away and lets nothing come; raised again, it wakes what waits. */
async function lowerAndRaise(cluster: SimCluster, history: History, inspect: () => void): Promise<void> {
  const { world, machines } = cluster;
  for (const tenant of TENANTS) void setQuota(cluster, tenant, { containers: 0, deployments: 0 });
  await world.pass(1_000, inspect);
  const changes = () => machines.map(({ engine }) => engine.changes);
  const before = changes();
  for (const { name, metadata } of history.all<StoredDeployment>(ranges.deployments)) {
    const spec = { replicas: 3 };
    void put(cluster, { op: `more-${metadata.uid}`, kind: 'change', tenant: metadata.tenant, name, spec });
  }
  await world.pass(4_000, inspect);
  expect(changes(), 'containers came or went at a quota that is reached').to.deep.equal(before);
  await converge(cluster, history, inspect);
}

/** Nothing may happen while nothing is asked for. */
async function expectQuiet(cluster: SimCluster, history: History, inspect: () => void): Promise<void> {
  const { world } = cluster;
  // One that no node takes goes back at its deadline, ten minutes after it last came further.
  const isRolling = () => history.all<RolloutRecord>(ranges.rollouts).some(({ progress }) => progress);
  for (let waitedMs = 0; isRolling() && waitedMs < DEADLINE_MS; waitedMs += LAST_WORK_MS) {
    await world.pass(LAST_WORK_MS, inspect);
  }
  await world.pass(history.entries(ranges.schedulings).length > 0 ? AFTERMATH_MS : LAST_WORK_MS, inspect);
  if (history.all<NodePresence>(ranges.alive).some(({ rival }) => rival)) await world.pass(RIVAL_FORGOTTEN_MS, inspect);
  const before = standing(cluster, history);
  await world.pass(QUIET_MS, inspect);
  expect(standing(cluster, history), 'something happened though nothing was asked').to.deep.equal(before);
  expectConverged(cluster, history);
}

/** What the platform says that tenants have is what there is. */
async function expectCounted(cluster: SimCluster, history: History, inspect: () => void): Promise<void> {
  for (const tenant of TENANTS) {
    const counted = countUsed(cluster, tenant);
    await cluster.world.pass(100, inspect);
    expect(await counted, 'what was counted').to.include(countAll(tenant, history));
  }
}

function standing({ machines }: SimCluster, { changes }: History): unknown {
  return { stored: changes, made: machines.map(({ engine, disk }) => engine.changes + disk.changes) };
}
