import {
  getProgressDeadline,
  getStopGrace,
  type RolloutFailure,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { computeTemplateHash, isResolved, type Replica } from '../../crds/replica/index.js';
import { type CanaryRecord, isOfPresent, type RolloutProgress, type RolloutRecord } from '../../crds/rollout/index.js';
import {
  countUnsettledMs,
  explainTrouble,
  isAvailable,
  type ObservedReplica,
  type SettleTime,
} from '../reading/index.js';
import { judgeCanary } from './judge-canary.js';

export interface RolloutJudgement extends SettleTime {
  readonly deployment: StoredDeployment;
  readonly replicas: readonly ObservedReplica[];
  /** The stored record, of this deployment. */
  readonly record: RolloutRecord | undefined;
  /** While its canary is held. */
  readonly canary?: CanaryRecord | undefined;
  /** A dependency is not met. */
  readonly held: boolean;
  /** Why replicas have no node, while some have none. */
  readonly refused?: string | undefined;
  /** Since when this process keeps the replicas. While no process does, no rollout comes further. */
  readonly watchedSince: number;
}

/** What became of a rollout. */
export type RolloutVerdict =
  /** Nothing is to be recorded; `inMs` is when the deadline is over, or when a replica that runs counts as available. */
  | { readonly kind: 'open'; readonly inMs?: number }
  /** It has begun, or has come further. */
  | { readonly kind: 'progressed'; readonly progress: RolloutProgress; readonly inMs: number }
  /** It cannot come further by itself: its deadline starts again afterwards. */
  | { readonly kind: 'waits' }
  | { readonly kind: 'complete' }
  /** The canary has become healthy, or is not any more. */
  | ({ readonly kind: 'canary' } & Pick<CanaryRecord, 'healthy' | 'isRecovering'>)
  /** The canary was healthy for as long as was asked. */
  | { readonly kind: 'promoted' }
  | { readonly kind: 'failed'; readonly failure: RolloutFailure };

/** Progress is recorded at most this often within a deadline: a rollout that comes along well writes once. */
const RECORDS_PER_DEADLINE = 10;

/** How long a container has to stop where its template says nothing. */
const STOP_SECONDS = 10;

/**
 * Whether the present template is rolled out, on its way, or has made no progress for the deadline of its rollout.
 *
 * A template that was complete once is not judged again: what fails afterwards is no matter of the rollout. Nor is one
 * that is paused or waits for a dependency, or one of which no replica was started yet. The deadline runs only while the
 * rollout can come further, from when that was seen: the age of a record says nothing about it.
 */
export function judgeRollout(input: RolloutJudgement): RolloutVerdict {
  const { deployment, replicas, record, held } = input;
  const { metadata, rollout } = deployment;
  if (metadata.deletedAt) return { kind: 'open' };
  // A canary that stands still has its whole hold afterwards.
  const isStill = deployment.replicas === 0 || held || rollout?.paused === true;
  if (isStill && input.canary?.healthy) return { kind: 'canary' };
  if (deployment.replicas === 0) return { kind: 'open' };
  if (record?.completed?.templateHash === computeTemplateHash(deployment)) return { kind: 'open' };

  const own = replicas.filter(({ replica }) => replica.deploymentUid === metadata.uid);
  const baseline = input.canary?.baseline;
  const next = own.filter(({ replica }) => !replica.retiringSince && isOfPresent(replica, deployment, baseline));
  const available = next.filter(seen => isAvailable(seen, input)).length;
  const isWhole = available >= deployment.replicas && next.length === replicas.length;
  if (isWhole && !input.canary) return { kind: 'complete' };

  const isFirst = record?.completed === undefined;
  const isWaiting = held || rollout?.paused === true || next.length === 0;
  // A new deployment that no node takes is unschedulable for as long as it is: nothing was rolled out that could fail.
  if (isWaiting || (isFirst && next.some(({ node }) => node === 'nowhere'))) {
    return { kind: record?.progress ? 'waits' : 'open' };
  }
  if (record?.failed?.revision === metadata.generation || input.canary?.hasFailed) return { kind: 'open' };
  const canaryVerdict = input.canary && weighCanary(input, input.canary);
  if (canaryVerdict) return canaryVerdict;
  const placed = next.filter(({ node }) => node !== 'nowhere').length;
  const reached = { available, placed, old: replicas.length - next.length };
  const settles = next.map(seen => countUnsettledMs(seen, input)).filter(ms => ms > 0);
  return (
    weighProgress(input, reached, Math.min(...settles)) ?? { kind: 'failed', failure: describeFailure(input, next) }
  );
}

/** Undefined while the canary starts: it has the deadline of the rollout. */
function weighCanary(input: RolloutJudgement, canary: CanaryRecord): RolloutVerdict | undefined {
  const verdict = judgeCanary({ ...input, canary });
  switch (verdict.kind) {
    case 'starting':
      return undefined;
    case 'changed':
      return { ...verdict, kind: 'canary' };
    case 'holds':
      return { kind: 'open', ...(verdict.inMs !== undefined && { inMs: verdict.inMs }) };
    case 'held out':
      return { kind: 'promoted' };
    case 'worse': {
      const { generation } = input.deployment.metadata;
      const because = `the canary of revision ${generation} is worse than the others: ${verdict.message}`;
      return { kind: 'failed', failure: describeFailure(input, verdict.ill, because) };
    }
  }
}

type RolloutCounts = Pick<RolloutProgress, 'available' | 'placed' | 'old'>;

/** Compares how far the rollout is with how far it has come before. Undefined when its deadline is over. */
function weighProgress(
  input: RolloutJudgement,
  reached: RolloutCounts,
  settlesInMs: number,
): RolloutVerdict | undefined {
  const { deployment, replicas, record, now, watchedSince } = input;
  const deadline = getProgressDeadline(deployment);
  const { generation: revision } = deployment.metadata;
  const before = record?.progress?.revision === revision ? record.progress : undefined;
  const since = Math.min(now, Date.parse(before?.at ?? ''));
  // Only what was never reached before counts: a container that fails again and again does not put the deadline off.
  const most = before ? joinProgress(before, reached) : reached;
  const isFurther = before && (['available', 'placed', 'old'] as const).some(part => most[part] !== before[part]);
  const recordInMs = since + deadline / RECORDS_PER_DEADLINE - now;
  if (!before || Number.isNaN(since) || (isFurther && recordInMs <= 0)) {
    const progress = { revision, at: new Date(now).toISOString(), ...most };
    return { kind: 'progressed', progress, inMs: Math.min(deadline, settlesInMs) };
  }
  const stops = replicas.map(({ replica }) => findStopEnd(replica)).filter(Number.isFinite);
  const left = Math.min(now, Math.max(since, watchedSince, ...stops)) + deadline - now;
  const inMs = Math.min(left, settlesInMs, isFurther ? recordInMs : Infinity);
  return left > 0 ? { kind: 'open', inMs } : undefined;
}

function joinProgress(before: RolloutCounts, reached: RolloutCounts): RolloutCounts {
  return {
    available: Math.max(before.available, reached.available),
    placed: Math.max(before.placed, reached.placed),
    old: Math.min(before.old, reached.old),
  };
}

/** Until when the container of a replica that is taken away may take to stop: so long the rollout comes along. */
function findStopEnd({ retiringSince, template }: Replica): number {
  return Date.parse(retiringSince ?? '') + (getStopGrace(template) ?? STOP_SECONDS) * 1000;
}

/** Why the rollout does not come further: what the first new replica that is not available says. */
function describeFailure(input: RolloutJudgement, next: readonly ObservedReplica[], because?: string): RolloutFailure {
  const { deployment, now, refused } = input;
  const at = new Date(now).toISOString();
  const waiting = because === undefined ? next.filter(seen => !isAvailable(seen, input)) : next;
  const explained = waiting.map(seen => ({ seen, trouble: explainTrouble(seen, at) }));
  const { seen, trouble } = explained.find(each => each.trouble) ?? explained[0] ?? {};
  const base = { revision: deployment.metadata.generation, at };
  const deadline = deployment.rollout?.progressDeadline ?? '10m';
  const failed = because ?? `revision ${base.revision} made no progress within ${deadline}`;
  if (!seen) return { ...base, reason: 'stop_overdue', message: `${failed}: an old container is not removed` };

  const replica = seen.replica.slot;
  if (seen.node === 'nowhere') {
    const why = refused === undefined ? '' : ` (${refused})`;
    const message = `${failed}: no node takes replica ${replica}${why}; make room, or set rollout.maxUnavailable to 1 so that an old one is stopped first`;
    return { ...base, reason: 'Unschedulable', message, replica };
  }
  if (!isResolved(seen.replica)) {
    const message = `${failed}: the secrets of replica ${replica} were not found; the step secrets says which`;
    return { ...base, reason: 'secrets_unresolved', message, replica };
  }
  const { lastEnd, failedCheck, containerId, containerName } = seen.report ?? {};
  const otherwise =
    because === undefined
      ? 'it does not become ready'
      : `its program ended${lastEnd ? ` with exit code ${lastEnd.exitCode}` : ''} and was started again`;
  const ended = failedCheck ?? lastEnd;
  const log = failedCheck && (failedCheck.log ?? lastEnd?.output);
  const isWithheld = ended?.isWithheld ?? failedCheck?.isLogWithheld;
  return {
    ...base,
    reason: trouble?.reason ?? (because === undefined ? 'not_ready' : 'container_exited'),
    message: `${failed}: replica ${replica}: ${trouble?.message ?? otherwise}`,
    replica,
    ...(containerId !== undefined && { containerId }),
    ...(containerName !== undefined && { containerName }),
    ...(seen.nodeName !== undefined && { nodeName: seen.nodeName }),
    ...(ended && { exitCode: ended.exitCode }),
    ...(ended?.output !== undefined && { output: ended.output }),
    ...(log !== undefined && { log }),
    ...(isWithheld && { isWithheld }),
  };
}
