import { expect } from 'chai';

import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { hasAll } from '../../dev/simulation/index.js';
import { value } from '../../pkg/store/index.js';
import type { SimCluster } from './cluster.js';
import type { History, Invariant } from './history.js';
import { COUNTRY, type Machine } from './machine.js';
import { findEnrolled } from './volume-invariants.js';
import { LATELY_MS } from './wanted.js';

/** A status that was written, with the one before and what it is about. */
interface StatusChange {
  readonly tenant: string;
  readonly was: VolumeStatus;
  readonly is: VolumeStatus;
  readonly volume: StoredVolume;
  readonly history: History;
}

/** What no transaction may break where volumes are copied. */
export class CopyInvariants {
  readonly #cluster: SimCluster;
  /** When what a node says of itself, or what is said of it, last changed. */
  readonly #changedAt = new Map<string, number>();

  /** The latest epoch in which each volume was to move. */
  readonly #ordered = new Map<string, number>();

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  readonly holds: Invariant = (changes, history) => {
    for (const { key, before, entry } of changes) {
      const [tenant = ''] = splitKey(key);
      const isOfNode = [ranges.nodes, ranges.nodeStatuses].some(range => key.startsWith(range));
      if (isOfNode && entry) this.#changedAt.set(value<{ readonly id: string }>(entry).id, this.#cluster.world.time);
      if (!entry || !before || !key.startsWith(ranges.volumeStatuses)) continue;
      const [was, is] = [value<VolumeStatus>(before), value<VolumeStatus>(entry)];
      const volume = history.get<StoredVolume>(keys.volume(tenant, is.id));
      if (volume?.class !== 'replicated') continue;
      const change = { tenant, was, is, volume, history };
      this.#keepsApart(change);
      if ((is.epoch ?? 0) > (was.epoch ?? 0) && was.epoch !== undefined) {
        if (is.epoch === was.finalFor) this.#movesWell(change);
        else this.#promotesWell(change);
      }
      this.#ordersOnce(change);
      if (volume.metadata.deletedAt === undefined) this.#removesNothingUnique(change);
    }
  };

  /** The bytes are on distinct nodes of the tenant, and a node that is to have some from now on is inside the residency. */
  #keepsApart({ tenant, was, is, volume, history }: StatusChange): void {
    const { primaryNode, copies, leaving = [] } = is;
    const nodes = [...(primaryNode === undefined ? [] : [primaryNode]), ...copies.map(({ nodeId }) => nodeId)];
    expect(new Set(nodes).size, `nodes of ${volume.name} that are distinct: ${nodes.join()}`).to.equal(nodes.length);
    const staying = nodes.filter(id => leaving.includes(id));
    expect(staying, `nodes that are to have ${volume.name} and to lose it`).to.deep.equal([]);
    const known = [was.primaryNode, ...was.copies.map(({ nodeId }) => nodeId)];
    for (const id of nodes) {
      expect(history.node(id)?.metadata.tenant, `tenant of ${id}, which has ${volume.name}`).to.equal(tenant);
      if (known.includes(id)) continue;
      expect(this.#isInside(id, volume, history), `${id} is inside`).to.equal(true);
      const [here, there] = [id, primaryNode].map(each => this.#find(each, history)?.driver);
      if (there) expect(here, `driver of ${id}, which is to have a copy of ${volume.name}`).to.equal(there);
    }
  }

  /** A copy takes over that its own agent calls complete, inside the residency, the freshest on a node that sends heartbeats; and only for one that is given up. */
  #promotesWell({ tenant, was, is, volume, history }: StatusChange): void {
    const { name } = volume;
    const to = is.primaryNode ?? '';
    expect(
      was.copies.map(({ nodeId }) => nodeId),
      `copies of ${name} when ${to} was promoted`,
    ).to.include(to);
    const served = was.servedEpoch ?? was.epoch ?? 0;
    const find = (nodeId = '') => history.get<VolumeReport>(keys.volumeReport(tenant, is.id, nodeId));
    const readMoment = (report: VolumeReport | undefined) => {
      const isComplete = report?.state === 'ready' && report.role === 'replica' && (report.syncedEpoch ?? -1) >= served;
      return isComplete && report.syncedAt !== undefined ? Date.parse(report.syncedAt) : Number.NEGATIVE_INFINITY;
    };
    const moment = readMoment(find(to));
    expect(moment, `what ${to} said when it was promoted for ${name}`).to.be.greaterThan(0);
    expect(this.#isInside(to, volume, history), `${to}, which was promoted, is inside`).to.equal(true);

    for (const { nodeId } of was.copies) {
      const report = find(nodeId);
      const isKnown = report && this.#cluster.world.clock.now() - Date.parse(report.at) > LATELY_MS;
      const isReporting = this.#statusOf(nodeId, history)?.status === 'ready' && !this.#isChangedLately(nodeId);
      const isAble =
        isKnown && isReporting && !is.refusedBy?.includes(nodeId) && this.#isInside(nodeId, volume, history);
      if (isAble) expect(readMoment(report), `what ${nodeId} shows, which was not promoted`).to.be.at.most(moment);
    }

    const former = findEnrolled(was.primaryNode, history);
    const isTakingOver = was.phase !== 'Degraded' && (was.servedEpoch ?? 0) < (was.epoch ?? 0);
    const isGivenUp = !former || this.#statusOf(former.id, history)?.lost !== undefined;
    const isBroken = find(was.primaryNode)?.state === 'failed';
    expect(isTakingOver || isGivenUp || isBroken, `the primary of ${name} was given up`).to.equal(true);
  }

  /** The primary and the copy have told of the same last snapshot, and the copy has all that the primary holds. */
  #movesWell({ tenant, was, is, volume, history }: StatusChange): void {
    const { name } = volume;
    const [from = '', to = ''] = [was.primaryNode, is.primaryNode];
    expect(
      was.copies.map(({ nodeId }) => nodeId),
      `copies of ${name} when it moved to ${to}`,
    ).to.include(to);
    expect(this.#isInside(to, volume, history), `${to}, which ${name} moved to, is inside`).to.equal(true);
    const [own, there] = [from, to].map(id => history.get<VolumeReport>(keys.volumeReport(tenant, is.id, id))?.final);
    expect(own?.epoch, `what the last snapshot of ${name} was for`).to.equal(is.epoch);
    expect(there, `the last snapshot of ${name} on ${to}`).to.deep.equal(own);
    const find = (id: string) => this.#find(id, history);
    const served = find(from)?.disk.held.get(is.id)?.log ?? [];
    const isThere = find(to)
      ?.disk.listLogs(is.id)
      .some(log => hasAll(log, served));
    expect(isThere, `${to} has all ${served.length} records of ${name} that ${from} had`).to.equal(true);
  }

  /** No epoch is ordered that was before: what was told of an earlier move would count for a later one. */
  #ordersOnce({ was, is, volume: { name } }: StatusChange): void {
    const { finalFor } = is;
    if (finalFor === undefined || finalFor === was.finalFor) return;
    const latest = this.#ordered.get(is.id) ?? 0;
    expect(finalFor, `the epoch that ${name} is to move in`).to.be.greaterThan(latest);
    this.#ordered.set(is.id, finalFor);
  }

  /** A node is told to remove its copy only while others have everything that it has. */
  #removesNothingUnique({ was, is, volume, history }: StatusChange): void {
    const { machines } = this.#cluster;
    const told = (is.leaving ?? []).filter(id => !was.leaving?.includes(id));
    const nodes = [is.primaryNode, ...is.copies.map(({ nodeId }) => nodeId)];
    const names = nodes.map(id => findEnrolled(id, history)?.name);
    const others = machines.filter(({ name }) => names.includes(name)).flatMap(({ disk }) => disk.listLogs(is.id));
    for (const id of told) {
      const machine = machines.find(({ name }) => name === findEnrolled(id, history)?.name);
      const unique = machine?.disk.listLogs(is.id).filter(log => !others.some(each => hasAll(each, log))) ?? [];
      expect(unique.length, `what only ${machine?.name} has of ${volume.name}, which it is to remove`).to.equal(0);
    }
  }

  #find(nodeId: string | undefined, history: History): Machine | undefined {
    return this.#cluster.machines.find(({ name }) => name === findEnrolled(nodeId, history)?.name);
  }

  #statusOf(nodeId: string, history: History): NodeStatus | undefined {
    const node = findEnrolled(nodeId, history);
    return node && history.get<NodeStatus>(keys.nodeStatus(node.metadata.tenant, node.name));
  }

  #isChangedLately(nodeId: string): boolean {
    return this.#cluster.world.time - (this.#changedAt.get(nodeId) ?? 0) < LATELY_MS;
  }

  /** Whether a node is where the bytes of a volume may be, or was lately. */
  #isInside(nodeId: string, { residency }: StoredVolume, history: History): boolean {
    const { country } = residency ?? {};
    const labels: StoredNode['labels'] = history.node(nodeId)?.labels ?? {};
    return country === undefined || labels[COUNTRY] === country || this.#isChangedLately(nodeId);
  }
}
