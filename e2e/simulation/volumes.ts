import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { isFinished, type JobStatus, type StoredJob } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { RESIZED_MAX } from '../../dev/simulation/index.js';
import { BAD_IMAGE, type SimCluster, TENANTS } from './cluster.js';
import { COUNTRY, type Machine } from './machine.js';
import type { History, UserIntent } from './history.js';
import { setQuota } from './platform.js';
import { put } from './users.js';
import { findEnrolled } from './volume-invariants.js';

const VOLUMES = '/api/v1/dvm/volumes';
const JOBS = '/api/v1/jobs';
const NAMES = ['data', 'data', 'logs'] as const;
const CONSUMERS = ['store', 'store', 'index'] as const;
const KINDS = ['create', 'change', 'change', 'change', 'change', 'change', 'change', 'delete'] as const;
const SIZE = 2 ** 20;
/** How long the disk of a machine may be away. */
const DISK_AWAY_MS = 15_000;

const startFirst = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '20s', autoRollback: true } as const;
/** Even what writes to no volume any more makes room before it is healthy. */
export const stopFirst = { ...startFirst, maxSurge: 0, maxUnavailable: 1 } as const;

/** How a deployment is rolled out that mounts a volume. */
export const consumerForm = { healthCheck: { type: 'exec', command: ['check'] }, rollout: startFirst } as const;

/** A volume at the path that every consumer has it at. */
export const mountAt = (volumeId: string, readOnly: boolean) => ({ volumeId, mountPath: '/data', readOnly });

/** Who does something about volumes. */
export interface VolumeUser {
  readonly cluster: SimCluster;
  readonly history: History;
  readonly tenant: string;
  /** Names what they ask for. */
  readonly op: string;
  readonly mayRemove: (id: string) => boolean;
}

/** Users create, mount, change and delete volumes every second or so, until `until`, and machines come up without their disks. */
export function useVolumes(
  cluster: SimCluster,
  history: History,
  until: number,
  { prefix = 'vol', mayRemove = (_id: string): boolean => true, acts = volumeActs }: VolumeUse = {},
): void {
  const { world } = cluster;
  const { volumes: pace = 1 } = cluster.pace;
  let asked = 0;
  const next = () => {
    world.after(world.between(200, 1_500) / pace, 'a user wants a volume', () => {
      if (world.time >= until) return;
      const op = `${prefix}-${++asked}`;
      world.pick(acts)({ cluster, history, tenant: world.pick(TENANTS), op, mayRemove });
      next();
    });
  };
  const form = { ...(cluster.mix.hasCopies && { class: 'replicated' }) };
  for (const tenant of TENANTS) for (const name of new Set(NAMES)) void askForVolume(cluster, tenant, name, form);
  next();
}

/** How volumes are used. */
interface VolumeUse {
  /** Names what is asked for. */
  readonly prefix?: string;
  readonly mayRemove?: (id: string) => boolean;
  readonly acts?: readonly ((user: VolumeUser) => void)[];
}

/** What is done about volumes of any class. */
export const consume = [mount, mount, mount, mount, mount, work, remove, contest, resize] as const;
const volumeActs = [create, create, ...consume, limit, reboot];

function create({ cluster, tenant, op }: VolumeUser): void {
  const { world, machines } = cluster;
  const name = world.pick(NAMES);
  const type = world.pick(['volume', 'volume', 'volume', 'tmpfs']);
  const place = world.chance(0.2) ? { primaryNode: world.pick(machines).name } : {};
  const document = { name, class: 'ephemeral', type, sizeBytes: SIZE, ...place };
  void cluster.ask({ method: 'POST', path: VOLUMES, tenant, op, document });
}

/** Changes what a deployment mounts, or that it mounts anything. */
function mount(user: VolumeUser): void {
  const volume = pickVolume(user);
  const mounted = volume && user.cluster.world.chance(0.8) ? volume : undefined;
  ask(user, drawConsumer(user, mounted?.id));
}

function work(user: VolumeUser): void {
  const { cluster, tenant, op } = user;
  const { world } = cluster;
  const volume = pickVolume(user);
  if (!volume) return;
  const mounts = [mountAt(volume.id, world.chance(0.4))];
  const document = {
    kind: 'Job',
    name: op,
    image: 'registry.test/job:1',
    backoffLimit: world.pick([0, 1]),
    volumes: mounts,
  };
  void cluster.ask({ method: 'POST', path: JOBS, tenant, op, document });
}

/** Another size, which may be more than any machine has. */
function resize(user: VolumeUser): void {
  const { cluster, tenant, op } = user;
  const volume = pickVolume(user);
  if (!volume) return;
  const document = { sizeBytes: cluster.world.pick([SIZE, 2 * SIZE, RESIZED_MAX, RESIZED_MAX + SIZE]) };
  void cluster.ask({ method: 'PATCH', path: `${VOLUMES}/{id}`, tenant, op, params: { id: volume.id }, document });
}

function remove(user: VolumeUser): void {
  const volume = pickVolume(user);
  if (volume && user.mayRemove(volume.id)) void removeVolume(user.cluster, volume);
}

/** One deletes what another mounts, at the same moment. */
function contest(user: VolumeUser): void {
  const volume = pickVolume(user);
  if (!volume || !user.mayRemove(volume.id)) return;
  void removeVolume(user.cluster, volume);
  ask(user, drawConsumer(user, volume.id));
}

function limit({ cluster, tenant }: VolumeUser): void {
  const { world } = cluster;
  void setQuota(cluster, tenant, world.pick([{ volumes: 1 }, { volumes: 2 }, { volumeBytes: SIZE }, {}, {}]));
}

/** A machine comes up without its volumes for a while. */
export function reboot({ cluster }: VolumeUser): void {
  const { world, machines } = cluster;
  rebootWithoutDisk(cluster, world.pick(machines), {
    agentAfterMs: world.between(100, 4_000),
    diskAfterMs: world.between(1_000, DISK_AWAY_MS),
  });
}

/** A machine comes up without its volumes; somebody mounts their disk a while later. */
export function rebootWithoutDisk(
  { world }: SimCluster,
  machine: Machine,
  { agentAfterMs, diskAfterMs }: { readonly agentAfterMs: number; readonly diskAfterMs: number },
): void {
  if (machine.isOff) return;
  machine.disk.unmount();
  machine.reboot(agentAfterMs);
  world.after(diskAfterMs, 'a disk is mounted', () => machine.disk.mount());
}

/** Mostly one that can be mounted. */
export function pickVolume({ cluster: { world }, history, tenant }: VolumeUser): StoredVolume | undefined {
  const volumes = history.all<StoredVolume>(ranges.of(ranges.volumes, tenant));
  const isReady = ({ id }: StoredVolume) => history.get<VolumeStatus>(keys.volumeStatus(tenant, id))?.phase === 'Ready';
  const ready = volumes.filter(isReady);
  const some = ready.length > 0 && world.chance(0.9) ? ready : volumes;
  return some.length > 0 ? world.pick(some) : undefined;
}

function drawConsumer({ cluster: { world }, history, tenant, op }: VolumeUser, volumeId?: string): UserIntent {
  const name = world.pick(CONSUMERS);
  const isReader = volumeId === undefined || world.chance(0.4);
  const spec = {
    ...consumerForm,
    rollout: world.pick([startFirst, stopFirst]),
    image: `registry.test/${name}${world.pick([':1', ':2', ':3', BAD_IMAGE])}`,
    replicas: isReader ? world.pick([1, 2]) : world.pick([0, 1, 1, 1]),
    labels: { op },
    volumes: volumeId === undefined ? [] : [mountAt(volumeId, isReader)],
  };
  const isThere = history.get(keys.deployment(tenant, name)) !== undefined;
  return { op, kind: isThere ? world.pick(KINDS) : 'create', tenant, name, spec };
}

function ask({ cluster, history }: VolumeUser, intent: UserIntent): void {
  void put(cluster, intent).then(({ told }) => history.answered(intent, told));
}

/** Asks for a volume of a name. */
export function askForVolume(cluster: SimCluster, tenant: string, name: string, form: object = {}) {
  const document = { name, class: 'ephemeral', sizeBytes: SIZE, ...form };
  return cluster.ask({ method: 'POST', path: VOLUMES, tenant, op: name, document });
}

export function removeVolume(cluster: SimCluster, { id, metadata: { tenant } }: Pick<StoredVolume, 'id' | 'metadata'>) {
  return cluster.ask({ method: 'DELETE', path: `${VOLUMES}/{id}`, tenant, params: { id } });
}

/** Has what mounts a volume run a good image in the end, and gives volumes up whose node is no more, with what waits for them. */
export function endVolumes(cluster: SimCluster, history: History): void {
  const statuses = history.all<VolumeStatus>(ranges.volumeStatuses);
  const lost = new Set(
    statuses
      .filter(({ primaryNode }) => primaryNode !== undefined && !findEnrolled(primaryNode, history))
      .map(({ id }) => id),
  );
  const isWithout = ({ volumes = [] }: Pick<StoredDeployment, 'volumes'>) =>
    volumes.some(({ volumeId }) => lost.has(volumeId));
  for (const deployment of history.all<StoredDeployment>(ranges.deployments)) {
    const { name, image, metadata } = deployment;
    const { tenant, uid, generation, deletedAt } = metadata;
    if (deletedAt || !(isWithout(deployment) || image.endsWith(BAD_IMAGE))) continue;
    const op = `repair-${uid}-${generation}-${Math.floor(cluster.world.time)}`;
    const spec = { image: `registry.test/${name}:1`, ...(isWithout(deployment) && { volumes: [] }) };
    void put(cluster, { op, kind: 'change', tenant, name, spec });
  }
  for (const job of history.all<StoredJob>(ranges.jobs).filter(isWithout)) {
    const { tenant, uid, deletedAt } = job.metadata;
    const status = history.get<JobStatus>(keys.jobStatus(tenant, job.name));
    if (deletedAt || (status?.uid === uid && isFinished(status))) continue;
    void cluster.ask({ method: 'DELETE', path: `${JOBS}/{name}`, tenant, params: { name: job.name } });
  }
  for (const volume of history.all<StoredVolume>(ranges.volumes)) {
    if (lost.has(volume.id) && !volume.metadata.deletedAt) void removeVolume(cluster, volume);
  }
}

/** Whether a node has every volume that a deployment mounts. */
export function hasVolumes(
  { volumes = [], metadata }: StoredDeployment,
  { id }: StoredNode,
  history: History,
): boolean {
  return volumes.every(
    ({ volumeId }) => history.get<VolumeStatus>(keys.volumeStatus(metadata.tenant, volumeId))?.primaryNode === id,
  );
}

/** Throws unless every volume is on its node and says so, or waits for one, and nothing is left of others. */
export function expectVolumes({ machines }: SimCluster, history: History): void {
  const volumes = history.all<StoredVolume>(ranges.volumes);
  for (const { id, name, type, sizeBytes, primaryNode: named, residency, metadata } of volumes) {
    expect(metadata.deletedAt, `volume ${name} is to be deleted`).to.equal(undefined);
    const status = history.get<VolumeStatus>(keys.volumeStatus(metadata.tenant, id));
    const { phase, reason, primaryNode, capacityBytes } = status ?? {};
    if (primaryNode === undefined) {
      const nodes = history.all<StoredNode>(ranges.of(ranges.nodes, metadata.tenant));
      const isAble = ({ id: own, labels }: StoredNode) =>
        (named === undefined || named === own) && (!residency?.country || labels[COUNTRY] === residency.country);
      const able = nodes.filter(isAble);
      expect(able.length, `nodes that volume ${name} does not take`).to.equal(0);
      continue;
    }
    expect(phase, `phase of volume ${name}`).to.equal('Ready');
    if (reason !== 'volume_refused') expect(capacityBytes, `size of volume ${name}`).to.equal(sizeBytes);
    else expect(sizeBytes, `size that volume ${name} was refused`).to.be.greaterThan(RESIZED_MAX);
    const node = findEnrolled(primaryNode, history);
    const machine = machines.find(each => each.name === node?.name);
    if (type === 'volume') expect(machine?.disk.held.has(id), `bytes of ${name} on ${node?.name}`).to.equal(true);
  }
  const ids = new Set(volumes.map(({ id }) => id));
  const left = [ranges.volumeStatuses, ranges.volumeReports].flatMap(range =>
    history.all<VolumeStatus | VolumeReport>(range),
  );
  for (const { id } of left) expect(ids.has(id), `something was left of volume ${id}`).to.equal(true);
}
