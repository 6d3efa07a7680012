import { isDeepStrictEqual } from 'node:util';

import { hashSpec } from '../../crds/meta/index.js';
import { groupRejections, type RejectionGroup, type SchedulingReport } from '../../crds/scheduling/index.js';
import {
  type PlacementResult,
  isResidencyUnmet,
  summariseRejections,
  type Workload,
} from '../../pkg/placement/index.js';

/** How often something may be said of one deployment. */
const SAY_AT_MOST_EVERY_MS = 60_000;

/** What is to be said about replicas that found no node. */
export type ReportDecision =
  /** The record says it already. */
  | { readonly kind: 'nothing' }
  /** There is something else to say, but something was said a moment ago. */
  | { readonly kind: 'later'; readonly afterMs: number }
  /** The same cause once more: its event counts up. */
  | { readonly kind: 'again'; readonly verdict: SchedulingVerdict; readonly event: string }
  /** A new cause: a new event. */
  | { readonly kind: 'new'; readonly verdict: SchedulingVerdict };

/** Why replicas wait, without who says so and when. */
export interface SchedulingVerdict extends Omit<SchedulingReport, 'event' | 'lastSeenAt'> {
  /** Every node with every reason, as the event keeps them. */
  readonly groups: readonly RejectionGroup[];
}

/**
 * What placement has found out about the replicas of the deployment `uid` that are left without a node. Undefined when
 * none is.
 */
export function toVerdict(
  uid: string,
  { unplaced, refused }: PlacementResult,
  { residency }: Workload,
): SchedulingVerdict | undefined {
  if (unplaced === 0) return undefined;
  const groups = groupRejections(refused.toSorted((a, b) => (a.node < b.node ? -1 : 1)));
  const cause = groups.map(({ refusals, nodes }) => [refusals, nodes.map(([node]) => node)]);
  const filters = new Set(groups.flatMap(({ refusals }) => refusals.map(({ filter }) => filter)));
  return {
    uid,
    unplaced,
    summary: summariseRejections(0, refused),
    filters: [...filters].sort(),
    residencyUnmet: residency !== undefined && isResidencyUnmet(refused),
    cause: hashSpec(cause),
    details: hashSpec([unplaced, groups]),
    groups,
  };
}

/**
 * Decides what to say: one event for one standing cause, however often it is looked at.
 *
 * Which nodes refuse what is the cause; how much a node has free at the moment is a detail. Causes that follow each other
 * quickly, as those of a node that comes and goes, are not announced one by one.
 */
export function decideReport(
  verdict: SchedulingVerdict,
  standing: SchedulingReport | undefined,
  now: number,
): ReportDecision {
  if (standing?.uid !== verdict.uid) return { kind: 'new', verdict };
  if (standing.details === verdict.details) return { kind: 'nothing' };

  const wait = Date.parse(standing.lastSeenAt) + SAY_AT_MOST_EVERY_MS - now;
  // A record from the future was stamped by a clock that was put right since: it must not silence for longer.
  if (wait > 0 && wait <= SAY_AT_MOST_EVERY_MS) return { kind: 'later', afterMs: wait };
  const { cause, event } = standing;
  return cause === verdict.cause && event !== undefined ? { kind: 'again', verdict, event } : { kind: 'new', verdict };
}

/**
 * The record with what is true by now, its event left as it is: what wakes the deployment and what its status says does
 * not wait for the next event. Undefined when the record says so already.
 */
export function mergeReport(standing: SchedulingReport, verdict: SchedulingVerdict): SchedulingReport | undefined {
  const { unplaced, summary, residencyUnmet } = verdict;
  const filters = [...new Set([...standing.filters, ...verdict.filters])].sort();
  const record: SchedulingReport = { ...standing, unplaced, summary, residencyUnmet, filters };
  return isDeepStrictEqual(record, standing) ? undefined : record;
}
