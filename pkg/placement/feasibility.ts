import type { Refusal, Refused } from '../../crds/scheduling/index.js';
import type { Candidate } from './candidate.js';
import { type Filter, refuse } from './filter.js';
import type { Surroundings } from './surroundings.js';
import type { Workload } from './workload.js';

/** Every candidate, either able to take the workload or refused with at least one reason. */
export interface Feasibility {
  readonly able: readonly Candidate[];
  readonly refused: readonly Refused[];
}

/** Every reason of one node against the workload; none means that it will do. */
export function refusalsOf(
  node: Candidate,
  workload: Workload,
  around: Surroundings,
  filters: readonly Filter[],
): readonly Refusal[] {
  const reasons: Refusal[] = [];
  for (const filter of filters) {
    const reason = refuse(filter, node, workload, around);
    if (reason) reasons.push(reason);
  }
  return reasons;
}

/** Whether the node will do, without going into the reasons. */
export function accepts(
  node: Candidate,
  workload: Workload,
  around: Surroundings,
  filters: readonly Filter[],
): boolean {
  return filters.every(filter => filter.accepts(node, workload, around));
}

/** Puts every node to every filter, so that an answer never depends on the order of the filters. */
export function feasibility(
  nodes: Iterable<Candidate>,
  workload: Workload,
  around: Surroundings,
  filters: readonly Filter[],
): Feasibility {
  const able: Candidate[] = [];
  const refused: Refused[] = [];
  for (const node of nodes) {
    const reasons = refusalsOf(node, workload, around, filters);
    if (reasons.length === 0) able.push(node);
    else refused.push({ node: node.name, reasons });
  }
  return { able, refused };
}

/** The short form for a status message: `0 of 3 nodes: 2 resources, 1 ready`. */
export function summarise(able: number, refused: readonly Refused[]): string {
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
export function residencyMatchesNothing(refused: readonly Refused[]): boolean {
  return refused.every(({ reasons }) => reasons.some(reason => reason.filter === 'residency' || isUnreachable(reason)));
}

function isUnreachable({ filter, reported }: Refusal): boolean {
  return filter === 'ready' && reported !== 'draining';
}
