import { getCanaryHold, getCanarySize, type StoredDeployment } from '../../crds/deployment/index.js';
import { formatCount } from '../../crds/grammar/index.js';
import { type CanaryHealth, type CanaryRecord, isOfPresent } from '../../crds/rollout/index.js';
import { isAvailable, type ObservedReplica, type SettleTime } from '../reading/index.js';

export interface CanaryJudgement extends SettleTime {
  readonly deployment: StoredDeployment;
  readonly replicas: readonly ObservedReplica[];
  readonly canary: CanaryRecord;
  /** Since when this process keeps the replicas. */
  readonly watchedSince: number;
}

/** How long the leader watches a canary before it promotes it: what was reported while there was no leader may be stale. */
const WATCHED_MS = 60_000;

/** How a canary is. */
export type CanaryVerdict =
  /** It has not been healthy yet: the deadline of the rollout runs. */
  | { readonly kind: 'starting' }
  /** It has become healthy, or is not any more through no fault of its own: its hold starts again afterwards. */
  | { readonly kind: 'changed'; readonly healthy?: CanaryHealth; readonly isRecovering?: true }
  /** It goes on; `inMs` is when its hold is over. */
  | { readonly kind: 'holds'; readonly inMs?: number }
  | { readonly kind: 'held out' }
  /** It is worse than the others. */
  | { readonly kind: 'worse'; readonly ill: readonly ObservedReplica[]; readonly message: string };

/**
 * Compares the replicas of the new template with those of the old one.
 *
 * It is worse when a greater part of it is unhealthy, crashes in a loop, or, once it was healthy, has ended or cannot start, or when
 * its containers have restarted more often since. Until it was healthy a start that fails is tried again, within the deadline of the
 * rollout: a registry may be away for a moment. What ails both alike is not the new template, and they need not recover in the same
 * moment. A replica on a node that sends no heartbeats says nothing.
 */
export function judgeCanary({
  deployment,
  replicas,
  canary,
  watchedSince,
  ...settling
}: CanaryJudgement): CanaryVerdict {
  const { healthy, isRecovering } = canary;
  const { next, others } = splitSides(deployment, replicas, canary);
  const ill = next.filter(seen => isIll(seen, healthy));
  const illOthers = others.filter(seen => isIll(seen, healthy)).length;
  if (!isRecovering && isMore(ill.length / next.length, illOthers / others.length)) {
    const message = `${ill.length} of ${next.length} with the new template fail, ${illOthers} of ${others.length} with the old one`;
    return { kind: 'worse', ill, message };
  }
  if (ill.length > 0) return isRecovering ? { kind: 'starting' } : { kind: 'changed', isRecovering: true };
  const restarted = listRestarts([...next, ...others]);
  if (healthy) {
    // Those that have left their node since take their counts with them.
    const before = healthy.restarted ?? restarted;
    const since = { canary: countRestarts(next, before), others: countRestarts(others, before) };
    if (isMore(since.canary / next.length, since.others / others.length)) {
      const message = `its containers have ended ${formatCount(since.canary, 'time')} since it was healthy, those of the old template ${formatCount(since.others, 'time')}`;
      return { kind: 'worse', ill: next.filter(({ report }) => report?.restarts), message };
    }
  }
  const available = next.filter(seen => isAvailable(seen, settling)).length;
  if (available < getCanarySize(deployment).next) return healthy ? { kind: 'changed' } : { kind: 'starting' };
  if (!healthy) return { kind: 'changed', healthy: { since: new Date(settling.now).toISOString(), restarted } };
  if (!healthy.restarted) return { kind: 'changed', healthy: { ...healthy, restarted } };
  return judgeHold(deployment, healthy, { now: settling.now, watchedSince });
}

/** Replicas that are to stay, of the new template and of older ones. */
export function splitSides(
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
  { baseline }: CanaryRecord,
): { readonly next: readonly ObservedReplica[]; readonly others: readonly ObservedReplica[] } {
  const { uid } = deployment.metadata;
  const own = replicas.filter(({ replica }) => replica.deploymentUid === uid && !replica.retiringSince);
  const next = own.filter(({ replica }) => isOfPresent(replica, deployment, baseline));
  return { next, others: own.filter(seen => !next.includes(seen)) };
}

function isIll({ node, report }: ObservedReplica, healthy: CanaryHealth | undefined): boolean {
  if (node !== 'well' || !report) return false;
  if (report.health === 'unhealthy' || report.reason === 'crash_loop') return true;
  return healthy !== undefined && (report.state === 'exited' || report.state === 'failed');
}

/** Of a side without replicas nothing is ill. */
function isMore(part: number, other: number): boolean {
  return (part || 0) > (other || 0);
}

function listRestarts(replicas: readonly ObservedReplica[]): Readonly<Record<string, number>> {
  const counts = replicas.map(({ replica, report }) => [replica.uid, report?.restarts ?? 0] as const);
  return Object.fromEntries(counts.filter(([, restarts]) => restarts > 0));
}

/** How often containers of replicas have restarted since they had so often. */
function countRestarts(replicas: readonly ObservedReplica[], before: Readonly<Record<string, number>>): number {
  const counts = replicas.map(({ replica, report }) => (report?.restarts ?? 0) - (before[replica.uid] ?? 0));
  return counts.reduce((sum, restarts) => sum + Math.max(0, restarts), 0);
}

/** A time that cannot be read, or that another clock set ahead of this one, restarts the hold. */
function judgeHold(
  deployment: StoredDeployment,
  healthy: CanaryHealth,
  { now, watchedSince }: Pick<CanaryJudgement, 'now' | 'watchedSince'>,
): CanaryVerdict {
  const hold = getCanaryHold(deployment);
  if (hold === undefined) return { kind: 'holds' };
  const since = Date.parse(healthy.since);
  if (Number.isNaN(since)) return { kind: 'changed' };
  if (since > now) return { kind: 'changed', healthy: { ...healthy, since: new Date(now).toISOString() } };
  const watchedUntil = watchedSince > now ? now : watchedSince + Math.min(hold, WATCHED_MS);
  const left = Math.max(since + hold, watchedUntil) - now;
  return left > 0 ? { kind: 'holds', inMs: left } : { kind: 'held out' };
}
