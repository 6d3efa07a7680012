import type { UnresolvedRecord } from '../../crds/delivery/index.js';
import {
  type DeploymentPhase,
  getRolloutBounds,
  type RolloutFailure,
  type ScalingStatus,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { isResolved } from '../../crds/replica/index.js';
import { type CanaryRecord, findHeldCanary, isOfPresent, type RolloutRecord } from '../../crds/rollout/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import {
  explainTrouble,
  isServing,
  needsResolving,
  type ObservedReplica,
  type ReplicaTrouble,
  type UnmetDependency,
} from '../reading/index.js';

/** A replica that is not as it should be. */
export interface TroubledReplica extends ReplicaTrouble {
  readonly seen: ObservedReplica;
}

/** The replicas of one deployment, counted: the basis of its status. */
export interface ReplicaSummary {
  readonly wanted: number;
  /** Replica records, retiring ones included. */
  readonly records: number;
  /** Staying replicas of the present template. */
  readonly updated: readonly ObservedReplica[];
  /** Replicas that are not retiring, of any template, at most as many as wanted, those that serve first. */
  readonly staying: readonly ObservedReplica[];
  /** Those of them that serve. */
  readonly serving: number;
  /** How many have to serve, while a change is rolled out. */
  readonly needed: number;
  /** Those of them whose container fails. */
  readonly failing: readonly TroubledReplica[];
  /** New replicas beside them that a rollout waits for, of which something is wrong. */
  readonly awaited: readonly TroubledReplica[];
  /** Those of them of which something is wrong, without being failing yet. */
  readonly troubled: readonly TroubledReplica[];
  /** Replicas, leaving ones included, whose container the engine does not finish to create or to remove. */
  readonly stalled: readonly TroubledReplica[];
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
  readonly unresolved: UnresolvedRecord | undefined;
  /** Those of the staying replicas whose secrets were not looked up yet, or not found. */
  readonly unstamped: number;
  /** Why the rollout of the present revision has failed, when it missed its deadline. */
  readonly failed: RolloutFailure | undefined;
  /** While it is held. */
  readonly canary: CanaryRecord | undefined;
}

/** What the summary is counted from. */
export interface SummaryInput {
  readonly deployment: StoredDeployment;
  readonly replicas: readonly ObservedReplica[];
  /** The scheduler's stored report. */
  readonly scheduling: SchedulingReport | undefined;
  readonly unmet: readonly UnmetDependency[];
  /** The secret resolver's stored report. */
  readonly unresolved?: UnresolvedRecord | undefined;
  /** What its scaling policy has decided, where it has one. The deployment has that number of replicas here. */
  readonly scaling?: ScalingStatus | undefined;
  /** What the replica keeper has recorded of the rollout. */
  readonly rollout?: RolloutRecord | undefined;
  readonly now: string;
}

export function summariseReplicas({
  deployment,
  replicas,
  scheduling,
  unmet,
  unresolved,
  rollout,
  now,
}: SummaryInput): ReplicaSummary {
  const { uid, deletedAt, generation } = deployment.metadata;
  const wanted = deletedAt ? 0 : deployment.replicas;
  const canary = findHeldCanary(deployment, rollout);
  const isPresent = ({ replica }: ObservedReplica) =>
    replica.deploymentUid === uid && isOfPresent(replica, deployment, canary?.baseline);
  const own = replicas.filter(({ replica }) => !replica.retiringSince && replica.deploymentUid === uid);
  // During a rollout or a drain there may be more replicas than wanted: the others count only when they serve.
  const present = own.filter(isPresent);
  const ranked = [...present, ...own.filter(seen => !present.includes(seen))];
  const servingFirst = (among: readonly ObservedReplica[]) =>
    [...among.filter(isServing), ...among.filter(seen => !isServing(seen))].slice(0, wanted);
  const staying = servingFirst(ranked);
  const updated = servingFirst(present);
  const rolling = replicas.some(seen => !isPresent(seen));
  const listTroubled = (among: readonly ObservedReplica[]): readonly TroubledReplica[] =>
    among.flatMap(seen => {
      const trouble = explainTrouble(seen, now);
      return trouble ? [{ ...trouble, seen }] : [];
    });
  const troubled = listTroubled(staying);
  const { failed } = rollout ?? {};
  return {
    wanted,
    records: replicas.length,
    updated,
    staying,
    serving: staying.filter(isServing).length,
    needed: rolling ? Math.max(1, wanted - getRolloutBounds(deployment).unavailable) : wanted,
    awaited: listTroubled(updated.filter(seen => !staying.includes(seen))),
    failing: troubled.filter(isFailing),
    troubled: troubled.filter(trouble => !isFailing(trouble)),
    stalled: listTroubled(replicas).filter(isStalled),
    placed: staying.filter(({ node }) => node !== 'nowhere').length,
    leaving: replicas.length - updated.length,
    rolling,
    refused: scheduling?.uid === uid ? scheduling : undefined,
    misplaced: replicas.filter(({ misplaced, report }) => misplaced && report?.state !== 'removed'),
    unmet,
    // An older template may lack a secret that the present one no longer names.
    unresolved: unresolved?.uid === uid && [...staying, ...updated].some(needsResolving) ? unresolved : undefined,
    unstamped: staying.filter(({ replica }) => !isResolved(replica)).length,
    failed: rollout?.uid === uid && (canary?.hasFailed || failed?.revision === generation) ? failed : undefined,
    canary,
  };
}

/** Whether every wanted replica is up to date and serves, whatever is still to be removed. A canary is not all of it. */
export function isServed({ wanted, updated, canary }: ReplicaSummary): boolean {
  return updated.length === wanted && updated.every(isServing) && !canary;
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
function isFailing({ seen: { node, report }, reason }: TroubledReplica): boolean {
  if (node === 'failed' || node === 'unobserved') return true;
  if (reason === 'report_missing' || reason === 'record_unusable') return true;
  if (reason === 'volume_held') return false; // it waits, and nothing is wrong with it
  const isComingUp = report?.state === 'creating' || report?.state === 'pulling';
  if (isComingUp && report.reason !== undefined) return true;
  return report?.state === 'failed' || report?.state === 'exited' || report?.health === 'unhealthy';
}

/** Whether the engine or the agent does not finish a step that should take seconds. */
function isStalled({ seen: { node, report, replica }, reason }: TroubledReplica): boolean {
  if (node !== 'well' || reason === 'volume_held') return false;
  const state = report?.state;
  return (
    reason === 'stop_overdue' ||
    reason === 'pull_stuck' ||
    state === 'creating' ||
    state === 'stopping' ||
    replica.retiringSince !== undefined
  );
}

/** The phase of a deployment, and the same in one sentence: an obstacle comes first, then the progress. */
export function derivePhase(
  { metadata }: StoredDeployment,
  summary: ReplicaSummary,
): { readonly phase: DeploymentPhase; readonly message: string } {
  const { wanted, records, serving, failing, troubled, awaited, refused, placed, unresolved, leaving } = summary;
  const ready = `${serving} of ${wanted} replicas ready`;

  if (metadata.deletedAt) return { phase: 'Deleting', message: describeLeftovers(records, summary) };
  if (wanted === 0 && records === 0) return { phase: 'Stopped', message: 'stopped: 0 replicas are requested' };
  if (wanted === 0) return { phase: 'Progressing', message: describeLeftovers(records, summary) };
  if (isHeld(summary)) return { phase: 'Waiting', message: describeUnmet(summary.unmet) };
  if (summary.failed && !isServed(summary)) return { phase: 'Failed', message: `${ready}; ${summary.failed.message}` };
  if (refused)
    return { phase: refused.residencyUnmet ? 'Waiting' : 'Unschedulable', message: `${refused.summary}; ${ready}` };
  if (unresolved) return { phase: 'Degraded', message: `${ready}; ${unresolved.message}` };
  if (failing[0]) return { phase: 'Degraded', message: `${ready}; ${describeFailure(failing[0])}` };
  if (isServed(summary))
    return { phase: 'Running', message: leaving === 0 ? ready : `${ready}; ${describeLeftovers(leaving, summary)}` };
  if (placed === 0) return { phase: 'Pending', message: 'accepted; its replicas are being placed' };
  const trouble = troubled[0] ?? awaited[0];
  const canary = summary.canary ? `; canary of revision ${summary.canary.revision}` : '';
  return { phase: 'Progressing', message: trouble ? `${ready}; ${describeFailure(trouble)}` : `${ready}${canary}` };
}

/** What a deployment waits for, for people. */
export function describeUnmet(unmet: readonly UnmetDependency[]): string {
  return `waits for ${listUnmet(unmet)}`;
}

export function listUnmet(unmet: readonly UnmetDependency[]): string {
  return unmet.map(({ name, because }) => `${name}, which ${because}`).join('; ');
}

function describeLeftovers(containers: number, { stalled: [first] }: ReplicaSummary): string {
  const left = `${containers} ${containers === 1 ? 'container' : 'containers'} left to remove`;
  return first ? `${left}; ${describeStalled(first)}` : left;
}

/** A step that does not end, for people. */
export function describeStalled({ seen: { replica, report }, message }: TroubledReplica): string {
  const since = replica.retiringSince ?? report?.since;
  const step = replica.retiringSince ? 'stopping' : report?.state === 'pulling' ? 'pulling its image' : 'creating';
  return `replica ${replica.slot} has been ${step}${since === undefined ? '' : ` since ${since}`}: ${message}`;
}

/** Why one replica fails, for people. */
function describeFailure({ seen, message }: TroubledReplica): string {
  return `replica ${seen.replica.slot}: ${message}`;
}

/** How many replicas are up to date; one without a node is no container. */
export function countUpdated({ updated }: ReplicaSummary): number {
  return updated.filter(({ replica }) => replica.nodeId !== undefined).length;
}
