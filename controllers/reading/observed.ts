import { isMovable, type StoredDeployment } from '../../crds/deployment/index.js';
import type { NodeStatus } from '../../crds/node/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { Guard, Revision } from '../../pkg/store/index.js';

/** The state of a replica's node: `nowhere`: it has none, `gone`: it was removed, `unobserved`: its agent sees no containers. */
export type ReplicaNodeState = 'nowhere' | 'well' | 'unobserved' | 'failed' | 'gone';

/** How a node was lost, with the guard that it still is: a replica on a node that has just returned is kept. */
export interface NodeLoss {
  readonly by: NonNullable<NodeStatus['lost']>;
  readonly still: Guard;
}

/** One replica with the report of its container and the state of its node. */
export interface ObservedReplica {
  readonly replica: Replica;
  /** Of the replica's record, for the guard of a change to it. */
  readonly revision: Revision;
  readonly report: Report | undefined;
  /** What is wrong with the stored report, when it cannot be worked with: it then counts as none. */
  readonly reportFault?: string;
  readonly node: ReplicaNodeState;
  readonly nodeName?: string;
  readonly nodeSince?: string; // that its node has failed, or has not seen its containers
  /** Its node is the control plane's own, and it sends no heartbeats. The node is then `unobserved`. */
  readonly isSilent?: true;
  /** Set when the replicas on the node count as lost. The node is then `failed`. */
  readonly lost?: NodeLoss;
  /** Its node is being drained. */
  readonly draining?: true;
  /** Its node breaks the residency of the deployment. */
  readonly misplaced: boolean;
  /** A volume that it mounts has been promoted on another node: what this one writes is never read. */
  readonly isLeftBehind?: true;
  /** A volume that it mounts is to move: it is stopped here, and started where that is afterwards. */
  readonly isGivingWay?: true;
}

/** Whether the replica does its work. A report counts only while the agent sends heartbeats and sees its containers. */
export function isServing({ report, node }: ObservedReplica): boolean {
  return node === 'well' && isReady(report);
}

/** The reasons that an agent reports when it could not fetch the secrets of a container. */
const FETCH_FAILURES: ReadonlySet<string> = new Set(['secrets_unresolved', 'secret_store_unavailable']);

/**
 * Whether the secrets of a replica are to be looked up now: it has a node and is not retiring, and its secrets were not
 * found yet, or its agent could not fetch the versions that were found.
 */
export function needsResolving({ replica, report }: ObservedReplica): boolean {
  if (replica.nodeId === undefined || replica.retiringSince !== undefined || !replica.template.secrets?.length) {
    return false;
  }
  if (replica.resolved === undefined) return true;
  return report?.state === 'failed' && report.containerId === undefined && FETCH_FAILURES.has(report.reason ?? '');
}

/** Since when a running container counts as available, where nothing but its running shows that it works. */
export interface SettleTime {
  readonly now: number;
  readonly settleMs: number;
}

/**
 * Whether a rollout may count on the replica: it serves, and either its health check says so, or it has run for the settle time.
 * A container without a health check that fails at once would otherwise count for a moment.
 */
export function isAvailable(seen: ObservedReplica, settling: SettleTime): boolean {
  return isServing(seen) && countUnsettledMs(seen, settling) === 0;
}

/** How long the replica has to run on until it is available; 0 when it does not have to. */
export function countUnsettledMs({ report }: ObservedReplica, { now, settleMs }: SettleTime): number {
  if (report?.health !== 'none' || report.since === undefined) return 0;
  const left = Date.parse(report.since) + settleMs - now;
  // The clock of a node may be ahead: it is never waited for longer than the settle time.
  return Math.max(0, Math.min(left, settleMs)) || 0;
}

/** Whether the scheduler still has to find a node for the replica. */
export function isWaiting(replica: Replica): boolean {
  return replica.nodeId === undefined && replica.retiringSince === undefined;
}

/**
 * Whether a replica counts as lost without a report of its agent: its node is lost, and either it writes to no volume that
 * a second container would write to as well, whatever its deployment mounts by now, or the volume has gone to another node,
 * or an administrator has declared the machine off.
 */
export function isLost(seen: ObservedReplica, deployment: StoredDeployment | undefined): boolean {
  const { lost, replica, isLeftBehind } = seen;
  if (!lost) return false;
  return lost.by === 'fence' || isLeftBehind === true || (deployment !== undefined && isMovable(replica.template));
}

/**
 * Whether the replica has and will have no container, or none that counts: it was never placed, its agent has removed the
 * container, its node was removed, or it is lost.
 */
export function isWithoutContainer(seen: ObservedReplica, deployment: StoredDeployment | undefined): boolean {
  const { replica, report, node } = seen;
  if (node === 'nowhere' || node === 'gone' || isLost(seen, deployment)) return true;
  return replica.retiringSince !== undefined && report?.state === 'removed';
}

/** What an event about an owner of replicas is about. */
export function toOwnerSubject(owner: string, id: string): EventDraft['subject'] {
  const job = parseJobOwner(owner);
  return job === undefined ? { kind: 'Deployment', name: owner, id } : { kind: 'Job', name: job, id };
}

/** The type of an event that deployments and jobs have alike. */
export function toOwnerEvent<What extends 'placed' | 'unschedulable'>(owner: string, what: What) {
  return parseJobOwner(owner) === undefined ? (`deployment.${what}` as const) : (`job.${what}` as const);
}
