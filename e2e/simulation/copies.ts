import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { StoredVolume, VolumeStatus } from '../../crds/volume/index.js';
import type { SimCluster } from './cluster.js';
import { COUNTRY } from './machine.js';
import type { CopyWatch } from './copy-watch.js';
import type { History } from './history.js';
import { findEnrolled } from './volume-invariants.js';
import { askForVolume, consume, pickVolume, reboot, type VolumeUser } from './volumes.js';

const REPLICAS = '/api/v1/tenants/{tenant}/volumes/{id}/replicas';
const MOVE = '/api/v1/tenants/{tenant}/volumes/{id}/move';
const NAMES = ['data', 'data', 'logs'] as const;
/** A copy is behind by no more, while nothing goes wrong: some rounds of syncing. */
const LAG_MS = 30_000;

/** What is done about volumes where some are replicated. */
export const copyActs: readonly ((user: VolumeUser) => void)[] = [
  replicate,
  replicate,
  ...consume,
  addCopy,
  dropCopy,
  move,
  move,
  reboot,
];

function replicate({ cluster, tenant }: VolumeUser): void {
  const { world } = cluster;
  const residency = world.chance(0.3) ? { residency: { country: 'DE' } } : {};
  const form = world.chance(0.85) ? { class: 'replicated', replicas: world.pick([1, 1, 2]), ...residency } : {};
  void askForVolume(cluster, tenant, world.pick(NAMES), form);
}

function addCopy(user: VolumeUser): void {
  const { cluster, tenant } = user;
  const volume = pickVolume(user);
  if (volume) void askForCopy(cluster, { id: volume.id, tenant }, cluster.world.pick(cluster.machines).name);
}

function dropCopy(user: VolumeUser): void {
  const { cluster, tenant } = user;
  const volume = pickVolume(user);
  if (volume) void giveUpCopy(cluster, { id: volume.id, tenant }, cluster.world.pick(cluster.machines).name);
}

function move(user: VolumeUser): void {
  const { cluster, tenant } = user;
  const { world } = cluster;
  const volume = pickVolume(user);
  if (!volume) return;
  const about = { id: volume.id, tenant };
  void (world.chance(0.2) ? cancelMove(cluster, about) : askForMove(cluster, about, world.pick(cluster.machines).name));
}

/** A volume of a tenant. */
interface VolumeName {
  readonly id: string;
  readonly tenant: string;
}

/** Asks for a copy on a node. */
export function askForCopy(cluster: SimCluster, { id, tenant }: VolumeName, node: string) {
  const document = { node_id: node };
  return cluster.ask({ method: 'POST', path: REPLICAS, tenant, params: { tenant, id }, document });
}

/** Asks for a volume to move to a node. */
export function askForMove(cluster: SimCluster, { id, tenant }: VolumeName, node: string) {
  return cluster.ask({ method: 'POST', path: MOVE, tenant, params: { tenant, id }, document: { node } });
}

export function cancelMove(cluster: SimCluster, { id, tenant }: VolumeName) {
  return cluster.ask({ method: 'DELETE', path: MOVE, tenant, params: { tenant, id } });
}

/** Asks that a node has no copy any more, whatever it holds if somebody says so. */
export function giveUpCopy(cluster: SimCluster, { id, tenant }: VolumeName, node: string, query = {}) {
  return cluster.ask({
    method: 'DELETE',
    path: `${REPLICAS}/{node_id}`,
    tenant,
    params: { tenant, id, node_id: node },
    query,
  });
}

/** Brings every machine back to where it was at first. To be repeated: one may be under way. */
export function bringHome({ machines }: SimCluster): void {
  for (const { labels, seat } of machines) {
    if (labels[COUNTRY] === 'DE') continue;
    labels[COUNTRY] = 'DE';
    seat.restart(10);
  }
}

/**
 * Throws unless every copy of a replicated volume is synced and truly holds what was written, and there are as many as are wanted and
 * nodes allow.
 */
export function expectCopies({ machines }: SimCluster, history: History, watch: CopyWatch): void {
  // Physics: what was to be removed from a disk that was away, and is asked for again there, waits for somebody to delete it.
  const isExcepted = (id: string, name: string) => machines.some(each => each.name === name && each.disk.left.has(id));
  for (const volume of history.all<StoredVolume>(ranges.volumes).filter(each => each.class === 'replicated')) {
    const { id, name, metadata } = volume;
    const status = history.get<VolumeStatus>(keys.volumeStatus(metadata.tenant, id));
    if (status?.primaryNode === undefined) continue;
    const copies = status.copies.flatMap(copy => {
      const node = findEnrolled(copy.nodeId, history);
      const machine = machines.find(each => each.name === node?.name);
      return machine && !isExcepted(id, machine.name) ? [{ ...copy, machine }] : [];
    });
    for (const { machine, state, message } of copies) {
      expect(state, `copy of ${name} on ${machine.name}: ${message}`).to.equal('synced');
      expect(watch.hasServed(machine, id, LAG_MS), `what ${machine.name} has of ${name}`).to.equal(true);
    }
    const able = listAble(volume, status, history).filter(node => !isExcepted(id, node.name));
    const wanted = Math.min(volume.replicas ?? 0, able.length);
    expect(copies.length, `copies of ${name}`).to.be.at.least(wanted);
  }
}

/** The nodes that could have a copy. */
function listAble(
  { residency, excludedNodes = [], metadata }: StoredVolume,
  { primaryNode, driver }: VolumeStatus,
  history: History,
): readonly StoredNode[] {
  const { country } = residency ?? {};
  return history
    .all<StoredNode>(ranges.of(ranges.nodes, metadata.tenant))
    .filter(({ id }) => id !== primaryNode && !excludedNodes.includes(id))
    .filter(({ labels }) => country === undefined || labels[COUNTRY] === country)
    .filter(({ volumeDriver }) => volumeDriver === driver);
}
