import { getCanaryHold, getCanarySize, type StoredDeployment } from '../../crds/deployment/index.js';
import { isUpToDate } from '../../crds/replica/index.js';
import type { CanaryHealth, CanaryRecord } from '../../crds/rollout/index.js';
import { isAvailable, type ObservedReplica, type Settling } from '../reading/index.js';

export interface CanaryJudgement extends Settling {
  readonly deployment: StoredDeployment;
  readonly replicas: readonly ObservedReplica[];
  readonly canary: CanaryRecord;
}

/** How a canary is. */
export type CanaryVerdict =
  /** It has not been healthy yet: the deadline of the rollout runs. */
  | { readonly kind: 'starting' }
  /** It has become healthy, or is not any more through no fault of its own: its hold begins anew afterwards. */
  | { readonly kind: 'changed'; readonly healthy?: CanaryHealth; readonly isRecovering?: true }
  /** It goes on; `inMs` is when its hold is over. */
  | { readonly kind: 'holds'; readonly inMs?: number }
  | { readonly kind: 'held out' }
  /** It is worse than the others. */
  | { readonly kind: 'worse'; readonly ill: readonly ObservedReplica[]; readonly message: string };

/**
 * Compares the replicas of the new template with those of the old one.
 *
 * It is worse when a greater part of it is unhealthy, cannot start, crashes in a loop, or, once it was healthy, has ended, or when
 * its containers have restarted more often since. What ails both alike is not the new template, and they need not recover in the same
 * moment. A replica on a node that nobody hears of says nothing.
 */
export function judgeCanary({ deployment, replicas, canary, ...settling }: CanaryJudgement): CanaryVerdict {
  const { healthy, isRecovering } = canary;
  const { next, others } = splitSides(deployment, replicas);
  const ill = next.filter(seen => isIll(seen, healthy));
  const illOthers = others.filter(seen => isIll(seen, healthy)).length;
  if (!isRecovering && isMore(ill.length / next.length, illOthers / others.length)) {
    const message = `${ill.length} of ${next.length} with the new template fail, ${illOthers} of ${others.length} with the old one`;
    return { kind: 'worse', ill, message };
  }
  if (ill.length > 0) return isRecovering ? { kind: 'starting' } : { kind: 'changed', isRecovering: true };
  const restarts = { canary: countRestarts(next), others: countRestarts(others) };
  if (healthy) {
    const since = {
      canary: restarts.canary - healthy.restarts.canary,
      others: Math.max(0, restarts.others - healthy.restarts.others),
    };
    if (isMore(since.canary / next.length, since.others / others.length)) {
      const message = `its containers have ended ${since.canary} times since it was healthy, those of the old template ${since.others} times`;
      return { kind: 'worse', ill: next.filter(({ report }) => report?.restarts), message };
    }
  }
  const available = next.filter(seen => isAvailable(seen, settling)).length;
  if (available < getCanarySize(deployment).next) return healthy ? { kind: 'changed' } : { kind: 'starting' };
  if (!healthy) return { kind: 'changed', healthy: { since: new Date(settling.now).toISOString(), restarts } };
  return judgeHold(deployment, healthy, settling.now);
}

/** Replicas that are to stay, of the new template and of older ones. */
export function splitSides(
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
): { readonly next: readonly ObservedReplica[]; readonly others: readonly ObservedReplica[] } {
  const { uid } = deployment.metadata;
  const own = replicas.filter(({ replica }) => replica.deploymentUid === uid && !replica.retiringSince);
  const next = own.filter(({ replica }) => isUpToDate(replica, deployment));
  return { next, others: own.filter(seen => !next.includes(seen)) };
}

function isIll({ node, report }: ObservedReplica, healthy: CanaryHealth | undefined): boolean {
  if (node !== 'well' || !report) return false;
  if (report.health === 'unhealthy' || report.state === 'failed' || report.reason === 'crash_loop') return true;
  return healthy !== undefined && report.state === 'exited';
}

/** Of a side without replicas nothing is ill. */
function isMore(part: number, other: number): boolean {
  return (part || 0) > (other || 0);
}

function countRestarts(replicas: readonly ObservedReplica[]): number {
  return replicas.reduce((sum, { report }) => sum + (report?.restarts ?? 0), 0);
}

/** A time that cannot be read, or is ahead of this clock, is no shorter hold, and never a longer one. */
function judgeHold(deployment: StoredDeployment, { since }: CanaryHealth, now: number): CanaryVerdict {
  const hold = getCanaryHold(deployment);
  if (hold === undefined) return { kind: 'holds' };
  const left = Math.min(now, Date.parse(since)) + hold - now;
  if (Number.isNaN(left)) return { kind: 'changed' };
  return left > 0 ? { kind: 'holds', inMs: left } : { kind: 'held out' };
}
