import { expect } from 'chai';

import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { type Replica, templateHash } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { Chronicle } from './chronicle.js';
import { type Cluster, COUNTRY } from './cluster.js';

/**
 * Must hold after every step: never two running containers of one slot that nobody has given up, and never a container
 * on another tenant's machine. Answers how many containers run that were given up with their node, beside another one of
 * their slot: that is what a node costs which was lost and in truth ran.
 */
export function inspectContainers({ machines }: Cluster, { givenUp }: Chronicle): number {
  const slots = new Map<string, string>();
  const left: string[] = [];
  for (const { node, engine } of machines) {
    for (const { owner, state, name } of engine.containers) {
      expect(owner.tenant, `${name} is on a machine of another tenant`).to.equal(node.tenant);
      if (state !== 'running') continue;
      const slot = `${owner.deploymentUid} slot ${owner.slot}`;
      if (givenUp.has(owner.replica)) {
        left.push(slot);
        continue;
      }
      expect(slots.get(slot), `two containers of ${slot}: ${name} on ${node.name} too`).to.equal(undefined);
      slots.set(slot, node.name);
    }
  }
  return left.filter(slot => slots.has(slot)).length;
}

/** Throws unless everything is as the users ask for, and nothing else is left. */
export function expectConverged(cluster: Cluster, chronicle: Chronicle): void {
  const deployments = chronicle.all<StoredDeployment>(ranges.deployments);
  for (const deployment of deployments) expectServed(deployment, cluster, chronicle);

  const uids = new Set(deployments.map(({ metadata }) => metadata.uid));
  for (const { engine } of cluster.machines) {
    for (const { owner, name } of engine.containers)
      expect(uids.has(owner.deploymentUid), `${name} is an orphan`).to.equal(true);
    for (const { owner, name } of engine.containers)
      expect(chronicle.givenUp.has(owner.replica), `${name} was given up and is still there`).to.equal(false);
  }
  const replicas = new Set(chronicle.all<Replica>(ranges.replicas).map(({ uid }) => uid));
  for (const { replica } of chronicle.all<Report>(ranges.reports)) {
    expect(replicas.has(replica), `a report of ${replica} was left`).to.equal(true);
  }
  for (const range of [ranges.statuses, ranges.schedulings]) {
    for (const { uid } of chronicle.all<{ uid: string }>(range)) expect(uids.has(uid), `${range} left`).to.equal(true);
  }
}

function expectServed(deployment: StoredDeployment, cluster: Cluster, chronicle: Chronicle): void {
  const { name, replicas, ports, metadata } = deployment;
  const { tenant, uid } = metadata;
  expect(metadata.deletedAt, `${name} is to be deleted`).to.equal(undefined);

  // A host port can be had once a machine, and data may be in one country only: the others wait, and the status says so.
  const own = cluster.machines.filter(({ node }) => node.tenant === tenant);
  const machines = own.filter(({ node }) => mayHost(deployment, chronicle.get(keys.node(tenant, node.name))));
  const possible = machines.length === 0 ? 0 : ports ? Math.min(replicas, machines.length) : replicas;
  for (const { engine, node } of own.filter(machine => !machines.includes(machine))) {
    const astray = engine.containers.filter(({ owner }) => owner.deploymentUid === uid);
    expect(astray.length, `containers of ${name} on ${node.name}, where its data may not be`).to.equal(0);
  }
  const containers = machines
    .flatMap(({ engine }) => engine.containers)
    .filter(({ owner }) => owner.deploymentUid === uid);
  const present = containers.filter(({ owner }) => owner.templateHash === templateHash(deployment));
  expect(containers.length, `containers of ${name}`).to.equal(possible);
  expect(present.filter(({ state }) => state === 'running').length, `running containers of ${name}`).to.equal(possible);

  const status = chronicle.get<DeploymentStatus>(keys.status(tenant, name));
  const waits = machines.length === 0 ? 'Waiting' : 'Unschedulable';
  const phase = replicas === 0 ? 'Stopped' : possible < replicas ? waits : 'Running';
  expect(status, `status of ${name}`).to.include({
    uid,
    phase,
    readyReplicas: possible,
    observedGeneration: metadata.generation,
  });
}

function mayHost({ placement }: StoredDeployment, node: StoredNode | undefined): boolean {
  const country = placement?.residency?.country;
  return country === undefined || node?.labels[COUNTRY] === country;
}
