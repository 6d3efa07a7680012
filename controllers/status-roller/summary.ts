import type { Unresolved } from '../../crds/delivery/index.js';
import type { DeploymentPhase, StoredDeployment } from '../../crds/deployment/index.js';
import { isResolved, computeTemplateHash } from '../../crds/replica/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { isServing, type ObservedReplica, type UnmetDependency } from '../reading/index.js';

/** The replicas of one deployment, counted: the basis of its status. */
export interface ReplicaSummary {
  readonly wanted: number;
  /** Replica records, retiring ones included. */
  readonly records: number;
  /** Staying replicas of the present template. */
  readonly updated: readonly ObservedReplica[];
  /** Replicas that are not retiring, of any template, at most as many as wanted. */
  readonly staying: readonly ObservedReplica[];
  /** Those of them that serve. */
  readonly serving: number;
  /** Those of them whose container fails. */
  readonly failing: readonly ObservedReplica[];
  /** Those of them that have a node. */
  readonly placed: number;
  /** Replicas that are retiring, surplus, or made from an older template. */
  readonly leaving: number;
  /** Whether some replica, staying or leaving, is made from an older template. */
  readonly rolling: boolean;
  /** Why replicas wait for a node, while some do. */
  readonly refused: SchedulingReport | undefined;
  /** Replicas, leaving ones included, on a node that breaks the residency. */
  readonly misplaced: readonly ObservedReplica[];
  readonly unmet: readonly UnmetDependency[];
  /** Why replicas have no secrets, while some have none. */
  readonly unresolved: Unresolved | undefined;
  /** Those of the staying replicas whose secrets were not looked up yet, or not found. */
  readonly unstamped: number;
}

/** What the summary is counted from. */
export interface SummaryInput {
  readonly deployment: StoredDeployment;
  readonly replicas: readonly ObservedReplica[];
  /** The scheduler's stored report. */
  readonly scheduling: SchedulingReport | undefined;
  readonly unmet: readonly UnmetDependency[];
  /** The secret resolver's stored report. */
  readonly unresolved?: Unresolved | undefined;
}

export function summariseReplicas({
  deployment,
  replicas,
  scheduling,
  unmet,
  unresolved,
}: SummaryInput): ReplicaSummary {
  const { uid, deletedAt } = deployment.metadata;
  const wanted = deletedAt ? 0 : deployment.replicas;
  const present = computeTemplateHash(deployment);
  const isPresent = ({ replica }: ObservedReplica) => replica.deploymentUid === uid && replica.templateHash === present;
  const own = replicas.filter(({ replica }) => !replica.retiringSince && replica.deploymentUid === uid);
  // While a node is drained there may be one replica more than wanted: it counts only when it serves.
  const staying = [...own.filter(isServing), ...own.filter(seen => !isServing(seen))].slice(0, wanted);
  const updated = staying.filter(isPresent);
  return {
    wanted,
    records: replicas.length,
    updated,
    staying,
    serving: staying.filter(isServing).length,
    failing: staying.filter(isFailing),
    placed: staying.filter(({ node }) => node !== 'nowhere').length,
    leaving: replicas.length - updated.length,
    rolling: replicas.some(seen => !isPresent(seen)),
    refused: scheduling?.uid === uid ? scheduling : undefined,
    misplaced: replicas.filter(({ misplaced, report }) => misplaced && report?.state !== 'removed'),
    unmet,
    unresolved: unresolved?.uid === uid ? unresolved : undefined,
    unstamped: staying.filter(({ replica }) => !isResolved(replica)).length,
  };
}

/** Whether every wanted replica is up to date and serves, whatever is still to be removed. */
export function isServed({ wanted, updated }: ReplicaSummary): boolean {
  return updated.length === wanted && updated.every(isServing);
}

/** Whether every wanted replica is up to date and serves, and no other is left. */
export function isComplete(summary: ReplicaSummary): boolean {
  return summary.leaving === 0 && isServed(summary);
}

/** Whether the deployment has not started because a dependency is not met. */
export function isHeld({ unmet, staying }: ReplicaSummary): boolean {
  return unmet.length > 0 && staying.length === 0;
}

/** Whether the container fails, as opposed to not being started yet. */
function isFailing({ node, report }: ObservedReplica): boolean {
  if (node === 'failed' || node === 'unobserved') return true;
  return report?.state === 'failed' || report?.state === 'exited' || report?.health === 'unhealthy';
}

/** The phase of a deployment, and the same in one sentence: an obstacle comes first, then the progress. */
export function derivePhase(
  { metadata }: StoredDeployment,
  summary: ReplicaSummary,
): { readonly phase: DeploymentPhase; readonly message: string } {
  const { wanted, records, serving, failing, refused, placed, unresolved, leaving } = summary;
  const ready = `${serving} of ${wanted} replicas ready`;

  if (metadata.deletedAt) return { phase: 'Deleting', message: describeLeftovers(records) };
  if (wanted === 0 && records === 0) return { phase: 'Stopped', message: 'stopped: 0 replicas are requested' };
  if (wanted === 0) return { phase: 'Progressing', message: describeLeftovers(records) };
  if (isHeld(summary)) return { phase: 'Waiting', message: describeUnmet(summary.unmet) };
  if (refused)
    return { phase: refused.residencyUnmet ? 'Waiting' : 'Unschedulable', message: `${refused.summary}; ${ready}` };
  if (unresolved) return { phase: 'Degraded', message: `${ready}; ${unresolved.message}` };
  if (failing[0]) return { phase: 'Degraded', message: `${ready}; ${describeFailure(failing[0])}` };
  if (isServed(summary))
    return { phase: 'Running', message: leaving === 0 ? ready : `${ready}; ${describeLeftovers(leaving)}` };
  if (placed === 0) return { phase: 'Pending', message: 'accepted; its replicas are being placed' };
  return { phase: 'Progressing', message: ready };
}

/** What a deployment waits for, for people. */
export function describeUnmet(unmet: readonly UnmetDependency[]): string {
  return `waits for ${unmet.map(({ name, because }) => `${name}, which ${because}`).join('; ')}`;
}

function describeLeftovers(containers: number): string {
  return `${containers} ${containers === 1 ? 'container' : 'containers'} left to remove`;
}

/** Why one replica fails, for people. */
function describeFailure({ replica, report, node }: ObservedReplica): string {
  const who = `replica ${replica.slot}`;
  if (node === 'failed') return `${who} is on a node whose agent sends no heartbeats`;
  if (node === 'unobserved') return `${who} is on a node whose agent cannot see its containers`;
  if (report?.message) return `${who}: ${report.message}`;
  return `${who} is ${report?.health === 'unhealthy' ? 'unhealthy' : (report?.state ?? 'unknown')}`;
}

/** Why one replica fails, in one word for programs. */
export function toFailureReason({ report, node }: ObservedReplica): string {
  if (node === 'failed') return 'node_failed';
  if (node === 'unobserved') return 'containers_unobserved';
  return report?.reason ?? (report?.health === 'unhealthy' ? 'unhealthy' : (report?.state ?? 'unknown'));
}
