import { expect } from 'chai';

import {
  type DeploymentStatus,
  getCanaryHold,
  getCanarySize,
  getRolloutBounds,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { isUpToDate, type Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import { computeContentHash, findHeldCanary, isOfPresent, type RolloutRecord } from '../../crds/rollout/index.js';
import { type Entry, value } from '../../pkg/store/index.js';
import type { History, Invariant, StoreChange } from './history.js';
import { isScaled } from './scaling.js';

/**
 * What a loop decides on may be as old as this: a report is no guard. Whatever was ready so lately counts as ready; a mistake
 * does not depend on it.
 */
const LATELY_MS = 25_000;
/** What no transaction may break while something is rolled out. */
export function createRolloutInvariants(clock: { readonly time: number }): readonly Invariant[] {
  const readiness = new Readiness(clock);
  const healthySince = new Map<string, number>();
  return [
    changes => readiness.note(changes),
    keepsAvailable(readiness),
    claimsNothing(readiness),
    keepsCanarySmall(readiness),
    keepsHold(clock, healthySince),
  ];
}

/** Which containers are ready, or were lately, and where nodes were drained lately. */
class Readiness {
  readonly #clock: { readonly time: number };
  readonly #lastReady = new Map<string, number>();
  readonly #lastDrained = new Map<string, number>();
  readonly #readySince = new Map<string, number>();
  readonly #nodeSince = new Map<string, number>();

  constructor(clock: { readonly time: number }) {
    this.#clock = clock;
  }

  note(changes: readonly StoreChange[]): void {
    for (const { key, before, entry } of changes) {
      if (key.startsWith(ranges.nodeStatuses)) this.#noteDrain(key, [before, entry]);
      if (!key.startsWith(ranges.reports)) continue;
      const was = before && value<Report>(before);
      const is = entry && value<Report>(entry);
      const { replica } = (is ?? was)!;
      if (isReady(is) || isReady(was)) this.#lastReady.set(replica, this.#clock.time);
      if (!isReady(is)) this.#readySince.delete(replica);
      else if (!isReady(was)) this.#readySince.set(replica, this.#clock.time);
    }
  }

  /** A drain may add one replica to those of a canary. */
  countDrainSurplus(tenant: string): number {
    return this.#clock.time - (this.#lastDrained.get(tenant) ?? -Infinity) < LATELY_MS ? 1 : 0;
  }

  #noteDrain(key: string, entries: readonly (Entry | undefined)[]): void {
    this.#nodeSince.set(key, this.#clock.time);
    const isDrained = entries.some(entry => entry && value<NodeStatus>(entry).status === 'draining');
    if (isDrained) this.#lastDrained.set(splitKey(key)[0]!, this.#clock.time);
  }

  isNow({ tenant, nodeId, uid }: Replica, history: History): boolean {
    return nodeId !== undefined && isReady(history.get<Report>(keys.report(tenant, nodeId, uid)));
  }

  /** Whether a replica has been ready for so long, on a node that has been the same for so long, that every loop knows it. */
  isSettled(replica: Replica, history: History): boolean {
    const node = history.node(replica.nodeId ?? '');
    const nodeSince = node && this.#nodeSince.get(keys.nodeStatus(replica.tenant, node.name));
    const since = Math.max(this.#readySince.get(replica.uid) ?? Infinity, nodeSince ?? Infinity);
    return this.isNow(replica, history) && this.#clock.time - since >= LATELY_MS;
  }

  /** Replicas of a deployment that are ready or were lately, those that are gone since included. */
  listLately({ metadata }: StoredDeployment, history: History): readonly Replica[] {
    const known = [...this.#lastReady.keys()].flatMap(uid => history.replica(uid) ?? []);
    return known.filter(each => each.deploymentUid === metadata.uid && this.wasLately(each, history));
  }

  wasLately(replica: Replica, history: History): boolean {
    if (this.isNow(replica, history)) return true;
    return this.#clock.time - (this.#lastReady.get(replica.uid) ?? -Infinity) < LATELY_MS;
  }
}

function listStaying({ name, metadata }: StoredDeployment, history: History): readonly Replica[] {
  return history
    .entries(ranges.replicasOf(metadata.tenant, name))
    .map(entry => value<Replica>(entry))
    .filter(({ retiringSince, deploymentUid }) => !retiringSince && deploymentUid === metadata.uid);
}

/** The deployment of a replica, while it is to be there. */
function findDeployment({ tenant, deployment: name, deploymentUid }: Replica, history: History) {
  const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name));
  const isOwn = deployment?.metadata.uid === deploymentUid && !deployment.metadata.deletedAt;
  return isOwn && deployment.replicas > 0 ? deployment : undefined;
}

/** A ready replica of an older template is taken away only while enough others are available. */
const keepsAvailable =
  (readiness: Readiness): Invariant =>
  (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!key.startsWith(ranges.replicas) || !before || !entry) continue;
      const replica = value<Replica>(entry);
      if (!replica.retiringSince || value<Replica>(before).retiringSince) continue;
      const deployment = findDeployment(replica, history);
      // Those that exclude each other, or that a node or a country has to lose, go for other reasons.
      if (!deployment || deployment.ports || deployment.placement || isOnPoorNode(replica, history)) continue;
      if (isUpToDate(replica, deployment) || !readiness.isSettled(replica, history)) continue;
      const left = listStaying(deployment, history).filter(each => readiness.wasLately(each, history)).length;
      const least = deployment.replicas - getRolloutBounds(deployment).unavailable;
      expect(left, `available replicas of ${deployment.name} when slot ${replica.slot} goes`).to.be.at.least(least);
    }
  };

function isOnPoorNode({ tenant, nodeId = '' }: Replica, history: History): boolean {
  const node = history.node(nodeId);
  const status = node && history.get<NodeStatus>(keys.nodeStatus(tenant, node.name));
  return status?.id !== nodeId || status.status !== 'ready';
}

/** `Running` is claimed only while every wanted replica is of the present template and ready. */
const claimsNothing =
  (readiness: Readiness): Invariant =>
  (changes, history) => {
    for (const { key, entry } of changes) {
      if (!entry || !key.startsWith(ranges.statuses)) continue;
      const status = value<DeploymentStatus>(entry);
      const [tenant = '', name = ''] = splitKey(key);
      const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name));
      const { uid, generation } = deployment?.metadata ?? {};
      if (!deployment || status.uid !== uid || status.observedGeneration !== generation) continue;
      if (status.phase !== 'Running' || isScaled(deployment)) continue;
      const ready = readiness.listLately(deployment, history).filter(each => isUpToDate(each, deployment));
      expect(ready.length, `ready replicas of ${name}, which is claimed to run`).to.be.at.least(deployment.replicas);
    }
  };

/** No replica of a new template is made past its canary, nor more of them than it may have. */
const keepsCanarySmall =
  (readiness: Readiness): Invariant =>
  (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!key.startsWith(ranges.replicas) || before || !entry) continue;
      const replica = value<Replica>(entry);
      const deployment = findDeployment(replica, history);
      if (!deployment?.rollout?.canary || !isUpToDate(replica, deployment)) continue;
      const { tenant, uid } = deployment.metadata;
      const record = history.get<RolloutRecord>(keys.rollout(tenant, deployment.name));
      if (record?.uid !== uid || !record.completed) continue;
      // What was on a node that is gone is replaced before or after its record is cleared.
      const nodes = history.all<StoredNode>(ranges.of(ranges.nodes, tenant)).map(({ id }) => id);
      const staying = listStaying(deployment, history).filter(
        ({ nodeId }) => nodeId === undefined || nodes.includes(nodeId),
      );
      const canary = findHeldCanary(deployment, record);
      const next = staying.filter(each => isOfPresent(each, deployment, canary?.baseline)).length;
      if (canary) {
        const most = getCanarySize(deployment).next + readiness.countDrainSurplus(tenant);
        expect(next, `replicas of the canary of ${deployment.name}`).to.be.at.most(most);
        continue;
      }
      const content = computeContentHash(deployment);
      const isKnown = record.completed.contentHash === content || record.canary?.contentHash === content;
      const isAlone = next === staying.length || deployment.rollout.paused === true;
      expect(isKnown || isAlone, `${deployment.name} is rolled out past its canary`).to.equal(true);
    }
  };

/** A canary is promoted by an order, or when it was healthy for its hold. */
const keepsHold =
  (clock: { readonly time: number }, healthySince: Map<string, number>): Invariant =>
  (changes, history) => {
    for (const { key, before, entry } of changes) {
      if (!key.startsWith(ranges.rollouts) || !before || !entry) continue;
      const was = value<RolloutRecord>(before).canary;
      const { canary: is, uid } = value<RolloutRecord>(entry);
      const about = `${uid} ${is?.startedAt}`;
      if (!is?.healthy) healthySince.delete(about);
      else if (!was?.healthy || was.startedAt !== is.startedAt) healthySince.set(about, clock.time);
      const [tenant = '', name = ''] = splitKey(key);
      const isOrdered = changes.some(change => change.key === keys.canaryOrder(tenant, name) && !change.entry);
      if (!is?.promotedAt || was?.promotedAt || isOrdered) continue;
      const deployment = history.get<StoredDeployment>(keys.deployment(tenant, name))!;
      const since = healthySince.get(about);
      const held = since === undefined ? Infinity : clock.time - since + 100;
      expect(held, `ms that the canary of ${name} was held`).to.be.at.least(getCanaryHold(deployment) ?? Infinity);
    }
  };
