import type { Refusal, Refused } from '../../crds/scheduling/index.js';
import type { Candidate, Workload } from './candidate.js';
import type { Filter } from './filter.js';

/** Every candidate, either able to take the workload or refused with at least one reason. */
export interface Feasibility {
  readonly able: readonly Candidate[];
  readonly refused: readonly Refused[];
}

/** Every reason of one node against the workload; none means that it will do. */
export function refusalsOf(node: Candidate, workload: Workload, filters: readonly Filter[]): readonly Refusal[] {
  const reasons: Refusal[] = [];
  for (const filter of filters) {
    const reason = filter(node, workload);
    if (reason) reasons.push(reason);
  }
  return reasons;
}

/** Puts every node to every filter, so that an answer never depends on the order of the filters. */
export function feasibility(nodes: readonly Candidate[], workload: Workload, filters: readonly Filter[]): Feasibility {
  const able: Candidate[] = [];
  const refused: Refused[] = [];
  for (const node of nodes) {
    const reasons = refusalsOf(node, workload, filters);
    if (reasons.length === 0) able.push(node);
    else refused.push({ node: node.name, reasons });
  }
  return { able, refused };
}

/** The short form for a status message: `0 of 3 nodes: 2 resources, 1 ready`. */
export function summarise({ able, refused }: Feasibility): string {
  const nodes = `${able.length} of ${able.length + refused.length} nodes`;
  if (refused.length === 0) return nodes;

  const counts = new Map<string, number>();
  for (const { reasons } of refused) {
    for (const { filter } of reasons) counts.set(filter, (counts.get(filter) ?? 0) + 1);
  }
  const tally = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return `${nodes}: ${tally.map(([filter, count]) => `${count} ${filter}`).join(', ')}`;
}
