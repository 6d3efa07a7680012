import { type FilterRejection, type RejectedNode, toFilterRejection } from '../../crds/scheduling/index.js';
import type { Candidate, Workload } from './model.js';
import type { TopologyCounts } from './topology.js';

/** A question about one node and one workload. */
type Asked<Answer> = (node: Candidate, workload: Workload, around: TopologyCounts) => Answer;

/**
 * One rule of where a workload may go.
 *
 * Both functions are pure: they read no store and never throw. A question that cannot be answered is a refusal, so that
 * placement fails closed.
 */
export interface Filter {
  readonly name: string;
  /** Whether the node may host the workload. Asked far more often than why. */
  readonly accepts: Asked<boolean>;
  /** What is required and what the node reports, of a node that is not accepted. */
  readonly describe: Asked<readonly [required: string, reported: string]>;
}

/** Why the filter does not accept a node. Undefined: it does. */
export function checkFilter(
  { name, accepts, describe }: Filter,
  ...asked: Parameters<Filter['accepts']>
): FilterRejection | undefined {
  return accepts(...asked) ? undefined : toFilterRejection(name, ...describe(...asked));
}

/** Every candidate, either able to take the workload or refused with at least one reason. */
export interface Feasibility {
  readonly able: readonly Candidate[];
  readonly refused: readonly RejectedNode[];
}

/** Every reason of one node against the workload; none means that it will do. */
export function listRejections(
  node: Candidate,
  workload: Workload,
  around: TopologyCounts,
  filters: readonly Filter[],
): readonly FilterRejection[] {
  const reasons: FilterRejection[] = [];
  for (const filter of filters) {
    const reason = checkFilter(filter, node, workload, around);
    if (reason) reasons.push(reason);
  }
  return reasons;
}

/** Whether the node will do, without going into the reasons. */
export function passesFilters(
  node: Candidate,
  workload: Workload,
  around: TopologyCounts,
  filters: readonly Filter[],
): boolean {
  return filters.every(filter => filter.accepts(node, workload, around));
}

/** Puts every node to every filter, so that an answer never depends on the order of the filters. */
export function checkNodes(
  nodes: Iterable<Candidate>,
  workload: Workload,
  around: TopologyCounts,
  filters: readonly Filter[],
): Feasibility {
  const able: Candidate[] = [];
  const refused: RejectedNode[] = [];
  for (const node of nodes) {
    const reasons = listRejections(node, workload, around, filters);
    if (reasons.length === 0) able.push(node);
    else refused.push({ node: node.name, reasons });
  }
  return { able, refused };
}

/** The short form for a status message: `0 of 3 nodes: 2 resources, 1 ready`. */
export function summariseRejections(able: number, refused: readonly RejectedNode[]): string {
  const nodes = `${able} of ${able + refused.length} nodes`;
  if (refused.length === 0) return nodes;

  const counts = new Map<string, number>();
  for (const { reasons } of refused) {
    for (const { filter } of reasons) counts.set(filter, (counts.get(filter) ?? 0) + 1);
  }
  const tally = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return `${nodes}: ${tally.map(([filter, count]) => `${count} ${filter}`).join(', ')}`;
}

/**
 * Whether it is residency alone that leaves nothing: no node that can be reached satisfies it, whatever else they say.
 * To be asked only of a workload that has a residency.
 */
export function isResidencyUnmet(refused: readonly RejectedNode[]): boolean {
  return refused.every(({ reasons }) => reasons.some(reason => reason.filter === 'residency' || isUnreachable(reason)));
}

function isUnreachable({ filter, reported }: FilterRejection): boolean {
  return filter === 'ready' && reported !== 'draining';
}
