import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { isFinished, type JobStatus, type StoredJob } from '../../crds/job/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { formatJobOwner, type Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { isMadeVolume, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import { type Entry, value } from '../../pkg/store/index.js';
import type { SimCluster } from './cluster.js';
import type { Machine } from './machine.js';
import type { History, Invariant, StoreChange } from './history.js';

type Mounts = StoredDeployment['volumes'];

/** Who mounts a volume: what asks for it, and what is left of it. */
export interface MountUser {
  readonly owner: string;
  readonly isWriter: boolean;
}

/** The mounts of a deployment, of a job, or of a replica. */
function readMounts({ key, bytes }: Entry): NonNullable<Mounts> {
  if (!bytes.includes('"volumes":')) return [];
  const document = JSON.parse(bytes.toString()) as {
    readonly volumes?: Mounts;
    readonly template?: { volumes?: Mounts };
  };
  return (key.startsWith(ranges.replicas) ? document.template?.volumes : document.volumes) ?? [];
}

/** Everything that mounts a volume: deployments, jobs that have not ended, and containers that are wanted or retiring. */
export function listMountUsers(tenant: string, id: string, history: History): readonly MountUser[] {
  const list = (range: string) => history.entries(ranges.of(range, tenant)).filter(({ bytes }) => bytes.includes(id));
  const isOver = (entry: Entry) => {
    const { name, metadata } = value<StoredJob>(entry);
    const status = history.get<JobStatus>(keys.jobStatus(tenant, name));
    return status?.uid === metadata.uid && isFinished(status);
  };
  const users = [
    ...list(ranges.deployments).map(entry => ({ entry, owner: value<StoredDeployment>(entry).name })),
    ...list(ranges.jobs)
      .filter(entry => !isOver(entry))
      .map(entry => ({ entry, owner: formatJobOwner(value<StoredJob>(entry).name) })),
    ...list(ranges.replicas).map(entry => ({ entry, owner: value<Replica>(entry).deployment })),
  ];
  return users.flatMap(({ entry, owner }) => {
    const own = readMounts(entry).filter(({ volumeId }) => volumeId === id);
    return own.length > 0 ? [{ owner, isWriter: own.some(({ readOnly }) => !readOnly) }] : [];
  });
}

/** The node of an id, while it is enrolled. */
export function findEnrolled(nodeId: string | undefined, history: History): StoredNode | undefined {
  const last = nodeId === undefined ? undefined : history.node(nodeId);
  const stored = last && history.get<StoredNode>(keys.node(last.metadata.tenant, last.name));
  return stored?.id === nodeId ? stored : undefined;
}

/** How often another copy became the primary. */
const getEpoch = ({ epoch = 0 }: VolumeStatus): number => epoch;

/** Bytes stay where they were made, until another copy of them, which was complete, becomes the primary in a higher epoch. */
const keepsNode: Invariant = changes => {
  for (const { key, before, entry } of changes) {
    if (!before || !entry || !key.startsWith(ranges.volumeStatuses)) continue;
    const [was, is] = [value<VolumeStatus>(before), value<VolumeStatus>(entry)];
    expect(getEpoch(is), `epoch of ${key}`).to.be.at.least(getEpoch(was));
    if (!isMadeVolume(was)) continue;
    expect(isMadeVolume(is), `${key}, which was made, is ${is.phase}`).to.equal(true);
    if (getEpoch(is) > getEpoch(was)) continue; // see the invariants of copies
    expect(is.primaryNode, `the node of ${key}, which was made`).to.equal(was.primaryNode);
  }
};

/** A volume goes by order, which is taken while nothing mounts it, and after its bytes. */
const removesByOrder =
  (machines: readonly Machine[]): Invariant =>
  (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!before || !key.startsWith(ranges.volumes)) continue;
      const { id, name, metadata } = value<StoredVolume>(before);
      const { tenant } = metadata;
      const isOrdered = metadata.deletedAt === undefined && entry && value<StoredVolume>(entry).metadata.deletedAt;
      if (isOrdered || !entry) {
        const users = listMountUsers(tenant, id, history).map(({ owner }) => owner);
        expect(users, `who mounts ${name}, which is deleted`).to.deep.equal([]);
      }
      if (entry) continue;
      expect(metadata.deletedAt, `${name} was deleted unasked`).to.be.a('string');
      const status = changes.find(change => change.key === keys.volumeStatus(tenant, id))?.before;
      const node = findEnrolled(status && value<VolumeStatus>(status).primaryNode, history);
      const { disk } = machines.find(each => each.name === node?.name) ?? {};
      const isHeld = disk !== undefined && disk.held.has(id) && !disk.left.has(id);
      expect(isHeld, `bytes of ${name} on ${node?.name}, which was deleted`).to.equal(false);
    }
  };

/** What is stored mounts volumes that are there, and of all that mounts a volume one at most writes. */
const keepsOneWriter: Invariant = (changes, history) => {
  for (const { key, before, entry } of changes) {
    const isConsumer = [ranges.deployments, ranges.jobs, ranges.replicas].some(range => key.startsWith(range));
    if (!isConsumer || !entry) continue;
    const [tenant = ''] = splitKey(key);
    const known = new Set(before ? readMounts(before).map(({ volumeId }) => volumeId) : []);
    for (const { volumeId, readOnly } of readMounts(entry)) {
      const volume = history.get<StoredVolume>(keys.volume(tenant, volumeId));
      const isThere = volume !== undefined && volume.metadata.deletedAt === undefined;
      if (!known.has(volumeId)) expect(isThere, `${key} mounts a volume that is there`).to.equal(true);
      if (readOnly) continue;
      const writers = listMountUsers(tenant, volumeId, history).filter(({ isWriter }) => isWriter);
      const owners = [...new Set(writers.map(({ owner }) => owner))];
      expect(owners.length, `who writes to ${volume?.name}: ${owners.join()}`).to.be.at.most(1);
    }
  }
};

/** A writer is placed on the node of its volume, as readers are, alone, and its record goes when its container has gone for certain. */
const keepsWriters: Invariant = (changes, history) => {
  for (const change of changes) {
    if (!change.key.startsWith(ranges.replicas)) continue;
    const { before, entry } = change;
    const mounts = readMounts((entry ?? before)!);
    if (mounts.length === 0) continue;
    const replica = value<Replica>((entry ?? before)!);
    const { tenant, nodeId, deployment } = replica;
    const isPlaced = nodeId !== undefined && entry && !(before && value<Replica>(before).nodeId);
    for (const { volumeId, readOnly } of mounts) {
      const status = history.get<VolumeStatus>(keys.volumeStatus(tenant, volumeId));
      if (isPlaced) expect(nodeId, `where ${deployment} was placed`).to.equal(status?.primaryNode);
      if (readOnly || !entry || before) continue;
      const others = history
        .entries(ranges.replicasOf(tenant, deployment))
        .filter(each => readMounts(each).some(mount => mount.volumeId === volumeId && !mount.readOnly));
      expect(others.length, `replicas of ${deployment} that write to ${volumeId}`).to.equal(1);
    }
    if (!entry && nodeId !== undefined && mounts.some(({ readOnly }) => !readOnly)) noteGone(replica, changes, history);
  }
};

/**
 * An agent that merely sends no heartbeats may still run what writes: no word but its own, or an administrator's, ends it; nor does a
 * promotion, before which it has stopped what writes.
 */
function noteGone(
  { uid, tenant, nodeId = '', deployment, template: { volumes = [] } }: Replica,
  changes: readonly StoreChange[],
  history: History,
): void {
  const node = findEnrolled(nodeId, history);
  const isPromotedElsewhere = volumes.some(({ volumeId }) => {
    const { epoch = 1, primaryNode } = history.get<VolumeStatus>(keys.volumeStatus(tenant, volumeId)) ?? {};
    return epoch > 1 && primaryNode !== nodeId;
  });
  if (!node || history.get<NodeStatus>(keys.nodeStatus(tenant, node.name))?.lost === 'fence') return;
  if (isPromotedElsewhere) return;
  const key = keys.report(tenant, nodeId, uid);
  const report = changes.find(change => change.key === key)?.before;
  expect(report && value<Report>(report).state, `what is known of a writer of ${deployment} that went`).to.equal(
    'removed',
  );
}

/** No volume is created, and none grows, beyond what the tenant may have at that moment. */
const keepsVolumeQuota: Invariant = (changes, history) => {
  for (const { key, before, entry } of changes) {
    if (!entry || !key.startsWith(ranges.volumes)) continue;
    const [had, has] = [before && value<StoredVolume>(before).sizeBytes, value<StoredVolume>(entry).sizeBytes];
    if (had !== undefined && has <= had) continue;
    const [tenant = ''] = splitKey(key);
    const quotas: Readonly<Record<string, number | null>> =
      history.get<StoredTenant>(keys.tenant(tenant))?.quotas ?? {};
    const volumes = history.all<StoredVolume>(ranges.of(ranges.volumes, tenant));
    const bytes = volumes.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (!before) expect(volumes.length, 'volumes of a tenant').to.be.at.most(quotas['volumes'] ?? Infinity);
    expect(bytes, 'bytes of the volumes of a tenant').to.be.at.most(quotas['volumeBytes'] ?? Infinity);
  }
};

/** What no transaction may break where volumes are used. */
export function createVolumeInvariants({ machines }: SimCluster): readonly Invariant[] {
  return [keepsNode, removesByOrder(machines), keepsOneWriter, keepsWriters, keepsVolumeQuota];
}
