import { type Candidate, occupied, type Workload } from './candidate.js';
import { type Feasibility, feasibility, refusalsOf } from './feasibility.js';
import type { Filter } from './filter.js';
import { best } from './rank.js';

/** Where replicas of one workload go, and how the nodes stand towards one more. */
export interface Placed {
  /** One node for each replica that found one, in order. */
  readonly nodes: readonly Candidate[];
  /** How many found none. */
  readonly unplaced: number;
  /** What every node says to one replica more, all of the above counted in. */
  readonly afterwards: Feasibility;
}

/**
 * Finds nodes for `count` replicas of one workload in one pass.
 *
 * Each placement is counted on its node before the next is sought, so that replicas spread and do not overbook.
 */
export function place(
  count: number,
  candidates: readonly Candidate[],
  workload: Workload,
  filters: readonly Filter[],
): Placed {
  const found = feasibility(candidates, workload, filters);
  const able = new Map(found.able.map(node => [node.id, node]));
  const refused = [...found.refused];
  const nodes: Candidate[] = [];

  while (nodes.length < count) {
    const node = best(able.values(), workload);
    if (!node) break;
    nodes.push(node);

    const fuller = occupied(node, workload);
    const reasons = refusalsOf(fuller, workload, filters);
    if (reasons.length === 0) able.set(node.id, fuller);
    else {
      able.delete(node.id);
      refused.push({ node: node.name, reasons });
    }
  }
  return { nodes, unplaced: count - nodes.length, afterwards: { able: [...able.values()], refused } };
}
