import { expect } from 'chai';

import { getRolloutBounds, isExclusive, type StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { VolumeStatus } from '../../crds/volume/index.js';
import type { ContainerStatus } from '../../pkg/agent/index.js';
import { value } from '../../pkg/store/index.js';
import type { SimCluster } from './cluster.js';
import type { Machine } from './machine.js';
import type { History, Invariant, StoreChange } from './history.js';
import { isUp, listStaying, type ReadyReplicas } from './readiness.js';
import type { WantedCounts } from './wanted.js';

/** What is known of the replicas of a deployment that do its work. */
interface AvailabilityRecord {
  readonly available: readonly Replica[];
  /** So many of them there must be: as many as are allowed at the least, once there were so many. */
  readonly floor: number;
}

/** Of a deployment that was not there before. One that takes the place of another of its name may begin anew. */
const UNKNOWN: AvailabilityRecord = { available: [], floor: 0 };

/**
 * At every transaction: the available replicas of a deployment are as many as its rollout may leave, or as many as there were
 * before if that is less. What nobody decides on costs as many as it takes (a crash, a node that fails or is drained or is
 * abroad), and so does a volume that moves: all that mounts it goes with it. What else is decided on (a rollout, a canary, another
 * number) costs nothing below the bound.
 */
export function keepsAvailable(readiness: ReadyReplicas, wanted: WantedCounts): Invariant {
  const known = new Map<string, AvailabilityRecord>();
  return (changes, history) => {
    for (const key of listTouched(changes, history)) {
      const deployment = history.get<StoredDeployment>(key);
      // Those that exclude each other may have to make room first.
      if (!deployment || !isUp(deployment) || isExclusive(deployment)) {
        known.delete(key);
        continue;
      }
      const previous = known.get(key);
      const isSame = previous?.available.every(({ deploymentUid }) => deploymentUid === deployment.metadata.uid);
      const { available: before, floor: was } = previous && isSame ? previous : UNKNOWN;
      const available = listStaying(deployment, history).filter(each => readiness.wasLately(each, history));
      const least = Math.min(...wanted.listLately(deployment, history).map(countLeast));
      const uids = new Set(available.map(({ uid }) => uid));
      const lost = before.filter(({ uid }) => !uids.has(uid));
      const excused = lost.filter(each => isExcused(each, deployment, readiness, history)).length;
      const floor = Math.min(least, was - excused);
      expect(available.length, `available replicas of ${deployment.name}`).to.be.at.least(floor);
      known.set(key, { available, floor: Math.max(floor, Math.min(least, available.length)) });
    }
  };
}

function countLeast(deployment: StoredDeployment): number {
  return Math.max(0, deployment.replicas - getRolloutBounds(deployment).unavailable);
}

/** The keys of the deployments that a transaction is about. */
function listTouched(changes: readonly StoreChange[], history: History): ReadonlySet<string> {
  const keysOf = changes.flatMap(({ key, before, entry }) => {
    const [tenant = '', name = ''] = splitKey(key);
    if (key.startsWith(ranges.deployments)) return [key];
    if (key.startsWith(ranges.replicas) || key.startsWith(ranges.scalings) || key.startsWith(ranges.scalingPolicies))
      return [keys.deployment(tenant, name)];
    if (!key.startsWith(ranges.reports)) return [];
    const replica = history.replica(value<Report>((entry ?? before)!).replica);
    return replica ? [keys.deployment(tenant, replica.deployment)] : [];
  });
  return new Set(keysOf);
}

/** Whether a replica is no longer available for a reason that nobody has decided on. */
function isExcused(was: Replica, deployment: StoredDeployment, readiness: ReadyReplicas, history: History): boolean {
  const is = history.get<Replica>(keys.replica(was.tenant, was.deployment, was.slot));
  const isStaying = is?.uid === was.uid && !is.retiringSince;
  const isLeft = isOnPoorNode(was, history) || hasMovingVolume(was, history);
  // Until a replica has been ready for a while some loop may not know that it is, and counts on others.
  return isStaying || deployment.placement !== undefined || isLeft || !readiness.isSettled(was, history);
}

/** Whether a volume that a replica mounts is about to leave its node, or has left it. */
function hasMovingVolume({ tenant, nodeId, template }: Replica, history: History): boolean {
  return (template.volumes ?? []).some(({ volumeId }) => {
    const status = history.get<VolumeStatus>(keys.volumeStatus(tenant, volumeId));
    return status !== undefined && (status.finalFor !== undefined || status.primaryNode !== nodeId);
  });
}

function isOnPoorNode({ tenant, nodeId = '' }: Replica, history: History): boolean {
  const node = history.node(nodeId);
  const status = node && history.get<NodeStatus>(keys.nodeStatus(tenant, node.name));
  return status?.id !== nodeId || status.status !== 'ready';
}

/** With what an engine ends a container that it is asked to stop; trouble ends it with another. */
const STOPPED = 143;

interface RunningContainer {
  readonly machine: string;
  readonly owner: ContainerStatus['owner'];
  /** It writes to a volume that may be promoted elsewhere: an agent that gets no answers stops it. */
  readonly isFenced: boolean;
}

/** Throws when an agent has taken down a container that runs for a replica that is to stay. */
export class ContainerWatch {
  /** While a machine and its copy have one identity, agents stop what both of them run. */
  hasDoubles = false;
  readonly #running = new Map<string, RunningContainer>();
  /** Uids of replicas whose record was retiring or gone at some time: a restore may bring it back. */
  readonly #dismissed = new Set<string>();

  readonly note: Invariant = changes => {
    for (const { key, before, entry } of changes) {
      if (!key.startsWith(ranges.replicas)) continue;
      const replica = value<Replica>((entry ?? before)!);
      if (!entry || replica.retiringSince) this.#dismissed.add(replica.uid);
    }
  };

  /** To be called when engines have done something. */
  look({ machines, mix }: SimCluster, history: History): void {
    const listWriters = ({ mounts }: Machine) =>
      [...mounts].flatMap(([id, all]) => (all.some(({ readOnly }) => !readOnly) ? [id] : []));
    const fenced = new Set(mix.hasCopies ? machines.flatMap(listWriters) : []);
    const containers = new Map(
      machines.flatMap(({ name: machine, engine }) => engine.containers.map(each => [each.id, { ...each, machine }])),
    );
    for (const [id, { machine, owner, isFenced }] of this.#running) {
      const is = containers.get(id);
      if (is?.state === 'running') continue;
      this.#running.delete(id);
      const isTakenDown = !is || is.exitCode === STOPPED;
      const isNode = history.get<StoredNode>(keys.node(owner.tenant, machine))?.id === owner.nodeId;
      // A store that was restored may not know it, or not where it is.
      const record = history.get<Replica>(keys.replica(owner.tenant, owner.deployment, owner.slot));
      const isKnown = record?.uid === owner.replica && record.nodeId === owner.nodeId;
      const isToStay = isKnown && !this.#dismissed.has(owner.replica) && !history.givenUp.has(owner.replica);
      if (isTakenDown && isNode && isToStay && !this.hasDoubles && !isFenced)
        throw new Error(`a container of ${owner.deployment} was taken down on ${machine}, and its replica is to stay`);
    }
    for (const [id, { state, owner, machine }] of containers)
      if (state === 'running' && parseJobOwner(owner.deployment) === undefined)
        this.#running.set(id, { machine, owner, isFenced: fenced.has(id) });
  }
}
