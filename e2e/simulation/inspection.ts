import { expect } from 'chai';

import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { type Replica, computeTemplateHash } from '../../crds/replica/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import type { Report } from '../../crds/report/index.js';
import type { History } from './history.js';
import type { SimCluster } from './cluster.js';
import { COUNTRY, type Machine } from './machine.js';
import { expectJobsEnded } from './jobs.js';
import { expectNetworks, hasNetworks } from './networks.js';
import { expectRotated } from './secrets.js';
import { expectVolumes, hasVolumes } from './volumes.js';

/**
 * Must hold after every step, so it asserts nothing that holds, which would cost most of it: never two running containers of one slot that was not given up, nor any two on one machine, never a container on a
 * machine that was not the node it was made for, and never containers of two tenants running on one machine. Answers how
 * many containers run that were given up with their node, beside another one of their slot: that is what a node costs
 * which was lost and in truth ran.
 */
export function inspectContainers({ machines }: SimCluster, history: History): number {
  const slots = new Map<string, string>();
  const left: string[] = [];
  for (const { name: machine, engine } of machines) {
    const running = engine.containers.filter(({ state }) => state === 'running');
    const tenants = new Set(running.map(({ owner }) => owner.tenant));
    if (tenants.size > 1) throw new Error(`${machine} serves ${tenants.size} tenants`);
    const own = running.map(({ owner }) => `${owner.deploymentUid} slot ${owner.slot}`);
    if (new Set(own).size < own.length) throw new Error(`${machine} runs a slot twice: ${own.join()}`);
    for (const { owner, name } of running) {
      const made = history.node(owner.nodeId);
      if (made?.metadata.tenant !== owner.tenant || made.name !== machine)
        throw new Error(`${name} on ${machine} was made for ${made?.name} of ${made?.metadata.tenant}`);
      const slot = `${owner.deploymentUid} slot ${owner.slot}`;
      if (history.givenUp.has(owner.replica)) {
        left.push(slot);
        continue;
      }
      if (slots.has(slot))
        throw new Error(`two containers of ${slot}: on ${slots.get(slot)}, and ${name} on ${machine}`);
      slots.set(slot, machine);
    }
  }
  return left.filter(slot => slots.has(slot)).length;
}

/** Throws where a status says more of a container on this machine than that its state and its health are unknown. */
export function expectUnclaimed(machine: string, history: History): void {
  for (const { uid, placements } of history.all<DeploymentStatus>(ranges.statuses)) {
    for (const { nodeId, state, health } of placements.filter(each => each.nodeId !== null)) {
      if (history.node(nodeId!)?.name !== machine) continue;
      if (health !== 'healthy' && state === 'unknown') continue;
      throw new Error(`${uid} is claimed to be ${state}, ${health} on ${machine}, whose engine does not answer`);
    }
  }
}

/** Throws unless everything is as the users ask for, and nothing else is left. */
export function expectConverged(cluster: SimCluster, history: History): void {
  const deployments = history.all<StoredDeployment>(ranges.deployments);
  const ready = history.all<NodeStatus>(ranges.nodeStatuses).filter(({ status }) => status === 'ready');
  expect(ready.length, 'nodes that are ready').to.equal(cluster.machines.length);
  for (const deployment of deployments) expectServed(deployment, cluster, history);
  expectRotated(history);
  expectNetworks(cluster, history);
  if (cluster.mix.hasVolumes) expectVolumes(cluster, history);
  cluster.expectMore();

  expectJobsEnded(history);
  const owners = [...deployments, ...history.all<StoredJob>(ranges.jobs)];
  const uids = new Set(owners.map(({ metadata }) => metadata.uid));
  for (const { engine } of cluster.machines) {
    for (const { owner, name } of engine.containers) {
      expect(uids.has(owner.deploymentUid), `${name} is an orphan`).to.equal(true);
      expect(history.givenUp.has(owner.replica), `${name} was given up and is still there`).to.equal(false);
    }
  }
  expect(history.entries(ranges.intents).length, 'writes of secrets that are under way').to.equal(0);
  const replicas = new Set(history.all<Replica>(ranges.replicas).map(({ uid }) => uid));
  for (const { replica } of history.all<Report>(ranges.reports)) {
    expect(replicas.has(replica), `a report of ${replica} was left`).to.equal(true);
  }
  for (const range of [ranges.statuses, ranges.schedulings, ranges.unresolved, ranges.scalings]) {
    for (const { uid } of history.all<{ uid: string }>(range)) expect(uids.has(uid), `${range} left`).to.equal(true);
  }
}

function expectServed(deployment: StoredDeployment, cluster: SimCluster, history: History): void {
  const { name, replicas, ports, networks = [], metadata } = deployment;
  const { tenant, uid } = metadata;
  expect(metadata.deletedAt, `${name} is to be deleted`).to.equal(undefined);

  // A host port can be had once a machine, and data may be in one country only: the others wait, and the status says so.
  const findNode = (machine: Machine) => history.get<StoredNode>(keys.node(tenant, machine.name));
  const machines = cluster.machines.filter(machine => mayHost(deployment, findNode(machine), history));
  const possible = machines.length === 0 ? 0 : ports ? Math.min(replicas, machines.length) : replicas;
  let kept = 0;
  for (const machine of cluster.machines.filter(each => !machines.includes(each))) {
    const astray = machine.engine.containers.filter(({ owner }) => owner.deploymentUid === uid);
    // Where no node has the networks that are joined now, replicas from before serve on.
    const isOlder = networks.length > 0 && machines.length === 0 && replicas > 0;
    const older = astray.filter(({ owner }) => isOlder && owner.templateHash !== computeTemplateHash(deployment));
    expect(astray.length - older.length, `containers of ${name} on ${machine.name}, where they may not be`).to.equal(0);
    kept += older.filter(({ state }) => state === 'running').length;
  }
  const containers = machines
    .flatMap(({ engine }) => engine.containers)
    .filter(({ owner }) => owner.deploymentUid === uid);
  const present = containers.filter(({ owner }) => owner.templateHash === computeTemplateHash(deployment));
  expect(containers.length, `containers of ${name}`).to.equal(possible);
  expect(present.filter(({ state }) => state === 'running').length, `running containers of ${name}`).to.equal(possible);

  const status = history.get<DeploymentStatus>(keys.status(tenant, name));
  const isAbroad = machines.length === 0 && deployment.placement?.residency !== undefined;
  // What misses its deadline for want of a node has failed, and says of what.
  const { failed } = history.get<RolloutRecord>(keys.rollout(tenant, name)) ?? {};
  const hasFailed = failed?.revision === metadata.generation;
  const waits = hasFailed ? 'Failed' : isAbroad ? 'Waiting' : 'Unschedulable';
  const phase = replicas === 0 ? 'Stopped' : possible < replicas ? waits : 'Running';
  const observedGeneration = metadata.generation;
  expect(status, `status of ${name}`).to.include({ uid, phase, readyReplicas: possible + kept, observedGeneration });
}

/** Whether the node is the tenant's, where the data may be, and has the networks and the volumes. */
function mayHost(deployment: StoredDeployment, node: StoredNode | undefined, history: History): boolean {
  const country = deployment.placement?.residency?.country;
  if (!node || !hasNetworks(deployment, node, history) || !hasVolumes(deployment, node, history)) return false;
  return country === undefined || node.labels[COUNTRY] === country;
}
