import { calm, storm } from '../../dev/simulation/index.js';
import { type SimCluster, UNDER_WAY_MS } from './cluster.js';
import { copyActs } from './copies.js';
import type { History } from './history.js';
import { useJobs } from './jobs.js';
import { useNetworks } from './networks.js';
import { endOrders, orderNodes } from './operators.js';
import { exchangeMachines } from './owners.js';
import { setQuotas } from './platform.js';
import { rollDeployments } from './rollouts.js';
import { scaleDeployments } from './scaling.js';
import { expectTicks, useSchedules } from './schedules.js';
import { useSecrets } from './secrets.js';
import { ENGINE_AWAY_MS, makeTrouble } from './trouble.js';
import { useCluster } from './users.js';
import { useVolumes } from './volumes.js';

const STORM_MS = 60_000;
const ENGINE_LOST_MS = 60_000;

/** Everything goes wrong, everybody wants something, and then it is over. */
export async function passStorm(cluster: SimCluster, history: History, inspect: () => void): Promise<void> {
  const { world } = cluster;
  const until = world.time + STORM_MS;
  const { isRolled, isScheduled, scaled, hasVolumes, hasCopies } = cluster.mix;
  Object.assign(cluster.faults, storm);
  if (hasCopies) {
    useVolumes(cluster, history, until, { acts: copyActs });
    makeTrouble(cluster, until);
    orderNodes(cluster, until);
    await world.pass(STORM_MS, inspect);
    return await calmDown(cluster, inspect);
  }
  useCluster(cluster, history, until);
  useSecrets(cluster, until);
  useJobs(cluster, until);
  if (isScheduled) useSchedules(cluster, history, until);
  if (isRolled) rollDeployments(cluster, history, until);
  if (scaled) scaleDeployments(cluster, history, until, scaled);
  if (hasVolumes) useVolumes(cluster, history, until);
  useNetworks(cluster, until);
  makeTrouble(cluster, until);
  orderNodes(cluster, until);
  exchangeMachines(cluster, until);
  setQuotas(cluster, until);
  await world.pass(STORM_MS, inspect);
  await calmDown(cluster, inspect);
  if (isScheduled) await expectTicks(cluster, history, inspect);
}

async function calmDown(cluster: SimCluster, inspect: () => void): Promise<void> {
  Object.assign(cluster.faults, calm);
  cluster.start();
  await cluster.world.pass(UNDER_WAY_MS, inspect);
  await endOrders(cluster);
}

/** An engine does not answer for long: what is claimed of its containers is inspected all the while. */
export async function loseEngine(cluster: SimCluster, inspect: () => void): Promise<void> {
  const { world, machines } = cluster;
  await world.pass(ENGINE_AWAY_MS, inspect); // an engine that the storm took away may come back until then
  const busy = machines.filter(({ engine }) => engine.containers.length > 0);
  if (busy.length === 0) return;
  const { engine } = world.pick(busy);
  engine.setReachable(false);
  await world.pass(ENGINE_LOST_MS, inspect);
  engine.setReachable(true);
}
