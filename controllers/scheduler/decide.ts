import { isDeepStrictEqual } from 'node:util';

import { hashSpec } from '../../crds/meta/index.js';
import { isUpToDate } from '../../crds/replica/index.js';
import {
  groupRejections,
  type RejectedNode,
  type RejectionGroup,
  type SchedulingReport,
} from '../../crds/scheduling/index.js';
import { isHoldingOlder } from '../../pkg/fleet/index.js';
import {
  type Candidate,
  isResidencyUnmet,
  type PlacementResult,
  summariseRejections,
  type Workload,
} from '../../pkg/placement/index.js';
import type { Guard } from '../../pkg/store/index.js';
import { isWaiting, type ObservedDeployment, type ObservedReplica } from '../reading/index.js';

/** How often an event may be written for one deployment. */
const REPORT_INTERVAL_MS = 60_000;

/** One replica and the node that was found for it. */
export interface Assignment {
  readonly seen: ObservedReplica;
  readonly node: Candidate;
  /**
   * Of a replica with host ports: the guard of the node's port conflict key. Every placement with host ports writes it, so that of
   * two placements decided on the same state only one is committed, even when the other's request arrives late.
   */
  readonly portGuard?: Extract<Guard, { readonly at: number }>;
}

/** Replicas that are placed alike, and what was found for them. */
export interface PlacedGroup {
  /** The replicas that wait, in the order in which they are placed. */
  readonly waiting: readonly ObservedReplica[];
  readonly placement: PlacementResult;
  readonly workload: Workload;
}

/** Everything that the scheduler decides from, for one deployment with replicas that wait for a node. */
export interface ScheduleInput {
  readonly uid: string;
  /** One, unless replicas of an older template wait as well. */
  readonly groups: readonly PlacedGroup[];
  /** The report that is stored. */
  readonly report: SchedulingReport | undefined;
  /** Whether the reasons of every node may be computed now; if not, the stored report stays. */
  readonly mayExplain: boolean;
  readonly now: number;
}

/** What the scheduler writes for one deployment. */
export interface ScheduleDecision {
  readonly assignments: readonly Assignment[];
  /** Why replicas are left without a node. Undefined when none is, or when it may not be explained now. */
  readonly verdict: SchedulingVerdict | undefined;
  readonly report: ReportDecision;
}

/**
 * The replicas of a deployment that are placed now. Only those that may serve for its present template: the replica keeper is
 * about to replace the others, unless the rollout is paused or has a canary. Then it keeps them, and makes more of them.
 */
export function listUnplaced({ deployment, replicas }: ObservedDeployment): readonly ObservedReplica[] {
  if (!deployment || deployment.metadata.deletedAt) return [];
  const { uid } = deployment.metadata;
  const isHolding = isHoldingOlder(deployment);
  return replicas.filter(
    ({ replica }) =>
      isWaiting(replica) && replica.deploymentUid === uid && (isHolding || isUpToDate(replica, deployment)),
  );
}

/** Whether the stored report is about this deployment and this number of replicas. */
export function isReported(report: SchedulingReport | undefined, uid: string, unplaced: number): boolean {
  return unplaced > 0 && report?.uid === uid && report.unplaced === unplaced;
}

/** Decides which replica gets which node, and what is reported about those that get none. */
export function decideSchedule(input: ScheduleInput): ScheduleDecision {
  const { uid, groups, report, mayExplain, now } = input;
  const assignments = groups.flatMap(({ waiting, placement }) =>
    placement.nodes.map((node, position) => ({ seen: waiting[position]!, node })),
  );
  if (!mayExplain) return { assignments, verdict: undefined, report: { kind: 'nothing' } };
  const verdict = toVerdict(uid, joinPlacements(groups), groups[0]!.workload);
  return { assignments, verdict, report: verdict ? decideReport(verdict, report, now) : { kind: 'clear' } };
}

/** What is left without a node of all groups: every node has the reasons of each. */
export function joinPlacements(
  groups: readonly Pick<PlacedGroup, 'placement'>[],
): Pick<PlacementResult, 'unplaced' | 'refused'> {
  const left = groups.map(({ placement }) => placement).filter(({ unplaced }) => unplaced > 0);
  const [first = { unplaced: 0, refused: [] }, ...others] = left;
  if (others.length === 0) return first;
  const reasons = new Map<string, RejectedNode['reasons']>();
  for (const { node, reasons: more } of left.flatMap(({ refused }) => refused)) {
    const known = reasons.get(node) ?? [];
    reasons.set(node, [...known, ...more.filter(({ message }) => known.every(each => each.message !== message))]);
  }
  const refused = Array.from(reasons, ([node, all]) => ({ node, reasons: all }));
  return { unplaced: left.reduce((sum, { unplaced }) => sum + unplaced, 0), refused };
}

/** What is done about the report of replicas that found no node. */
export type ReportDecision =
  /** Every replica has a node: the report goes. */
  | { readonly kind: 'clear' }
  /** The stored report says it already. */
  | { readonly kind: 'nothing' }
  /** The report would change, but its last event is less than a minute old. */
  | { readonly kind: 'later'; readonly afterMs: number }
  /** The same cause once more: its event counts up. */
  | { readonly kind: 'again'; readonly verdict: SchedulingVerdict; readonly event: string }
  /** A new cause: a new event. */
  | { readonly kind: 'new'; readonly verdict: SchedulingVerdict };

/** Why replicas wait: the report without its event and time. */
export interface SchedulingVerdict extends Omit<SchedulingReport, 'event' | 'lastSeenAt'> {
  /** Every node with every reason, as the event keeps them. */
  readonly groups: readonly RejectionGroup[];
}

/** Why replicas of the deployment `uid` are left without a node. Undefined when none is. */
export function toVerdict(
  uid: string,
  { unplaced, refused }: Pick<PlacementResult, 'unplaced' | 'refused'>,
  { residency }: Workload,
): SchedulingVerdict | undefined {
  if (unplaced === 0) return undefined;
  const groups = groupRejections(refused.toSorted((a, b) => (a.node < b.node ? -1 : 1)));
  const cause = groups.map(({ refusals, nodes }) => [refusals, nodes.map(([node]) => node)]);
  const filters = [...new Set(groups.flatMap(({ refusals }) => refusals.map(({ filter }) => filter)))].sort();
  return {
    uid,
    unplaced,
    summary: summariseRejections(0, refused),
    filters,
    refusing: filters,
    residencyUnmet: residency !== undefined && isResidencyUnmet(refused),
    cause: hashSpec(cause),
    details: hashSpec([unplaced, groups]),
    groups,
  };
}

/**
 * Decides what to report: one event for one cause, however often the deployment is reconciled.
 *
 * The cause is which nodes reject the replica by which filters; how much a node has free at the moment is a detail. Causes
 * that follow each other within a minute, such as those of a node that fails and returns, share one event.
 */
export function decideReport(
  verdict: SchedulingVerdict,
  stored: SchedulingReport | undefined,
  now: number,
): ReportDecision {
  if (stored?.uid !== verdict.uid) return { kind: 'new', verdict };
  if (stored.details === verdict.details) return { kind: 'nothing' };

  const wait = Date.parse(stored.lastSeenAt) + REPORT_INTERVAL_MS - now;
  // A time in the future comes from a clock that was corrected since: it must not delay the event for longer.
  if (wait > 0 && wait <= REPORT_INTERVAL_MS) return { kind: 'later', afterMs: wait };
  const { cause, event } = stored;
  return cause === verdict.cause && event !== undefined ? { kind: 'again', verdict, event } : { kind: 'new', verdict };
}

/**
 * The stored report with the present figures and its event unchanged: the status and the wakes do not wait for the next
 * event. Undefined when nothing differs.
 */
export function mergeReport(stored: SchedulingReport, verdict: SchedulingVerdict): SchedulingReport | undefined {
  const { unplaced, summary, residencyUnmet, filters: refusing } = verdict;
  const filters = [...new Set([...stored.filters, ...verdict.filters])].sort();
  const report: SchedulingReport = { ...stored, unplaced, summary, residencyUnmet, filters, refusing };
  return isDeepStrictEqual(report, stored) ? undefined : report;
}
