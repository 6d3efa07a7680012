import { passesFilters } from './feasibility.js';
import { nodeFilters } from './filters.js';
import { type Amounts, type Candidate, countSiblings, resourceKinds, type Workload } from './model.js';
import { TopologyCounts } from './topology.js';

/** What makes one able node better than another, in the order in which it counts. */
export interface NodeScores {
  /** Replicas of the same deployment in the node's place: fewer are better. */
  readonly siblingsNear: number;
  /** Replicas of the same deployment on the node: fewer are better. */
  readonly siblings: number;
  /** How much of each requested kind is free, in millionths, summed: more is better. */
  readonly free: number;
  /** Replicas of any deployment on the node: fewer are better. */
  readonly replicas: number;
}

/** The scores of a node. */
export function scoreNode(node: Candidate, workload: Workload, around: TopologyCounts): NodeScores {
  return {
    siblingsNear: around.siblingsNear(node),
    siblings: countSiblings(node, workload).staying,
    free: freeShare(node, workload.requests),
    replicas: node.replicas,
  };
}

/**
 * Which of two able nodes is better, the better first: replicas are spread over places and over nodes, then the node with
 * the most free of what is requested, then the emptier, then the name. Two nodes are never equal.
 */
export function compareCandidates(workload: Workload, around: TopologyCounts): (a: Candidate, b: Candidate) => number {
  const compareLoad = compareByLoad(workload.requests);
  return (a, b) =>
    around.siblingsNear(a) - around.siblingsNear(b) ||
    countSiblings(a, workload).staying - countSiblings(b, workload).staying ||
    compareLoad(a, b);
}

/** The part of the ranking that does not depend on who asks, but only on which kinds are requested. */
export function compareByLoad(requests: Partial<Amounts>): (a: Candidate, b: Candidate) => number {
  return (a, b) => freeShare(b, requests) - freeShare(a, requests) || a.replicas - b.replicas || compareByName(a, b);
}

/** For a moment two nodes may bear one name: one that is no more, and the one that has taken its place. */
function compareByName(a: Candidate, b: Candidate): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** The best of the able nodes, or undefined when there is none. */
export function findBest(
  able: Iterable<Candidate>,
  compare: (a: Candidate, b: Candidate) => number,
): Candidate | undefined {
  let winner: Candidate | undefined;
  for (const node of able) if (!winner || compare(node, winner) < 0) winner = node;
  return winner;
}

/** Nodes of different sizes compare by share. In whole millionths, so that no rounding can upset the order. */
function freeShare({ capacity, used }: Candidate, requests: Partial<Amounts>): number {
  let share = 0;
  for (const kind of resourceKinds) {
    if (!requests[kind] || capacity[kind] <= 0) continue;
    share += Math.max(0, Math.floor(((capacity[kind] - used[kind]) * 1e6) / capacity[kind]));
  }
  return share;
}

/** Past this many changes since the last look, sorting anew is cheaper than mending. */
const MEND_AT_MOST = 256;

/**
 * The nodes that one kind of workload may be put on at all, the one with the most left first.
 *
 * It is kept from one placement to the next: what has changed in between is mended where it is, so that a placement costs
 * what has changed and not what exists.
 */
export class NodeRanking {
  readonly #nodes: ReadonlyMap<string, Candidate>;
  readonly #wanted: (node: Candidate) => boolean;
  readonly #compare: (a: Candidate, b: Candidate) => number;
  /** What is in the order, as it was when it was put there. */
  readonly #ranked = new Map<string, Candidate>();
  readonly #changed = new Set<string>();
  #order: Candidate[] = [];

  /** `nodes` is read again whenever a change is mended. */
  constructor(workload: Workload, nodes: ReadonlyMap<string, Candidate>) {
    const nobody = new TopologyCounts(workload, []);
    this.#nodes = nodes;
    this.#wanted = node => passesFilters(node, workload, nobody, nodeFilters);
    this.#compare = compareByLoad(workload.requests);
    this.#sort();
  }

  /** Notes that a node has changed, appeared or gone. */
  note(id: string): void {
    this.#changed.add(id);
  }

  /** The order as it is now. It must not be kept. */
  look(): readonly Candidate[] {
    if (this.#changed.size > MEND_AT_MOST) this.#sort();
    else for (const id of this.#changed) this.#mend(id);
    this.#changed.clear();
    return this.#order;
  }

  #sort(): void {
    this.#ranked.clear();
    for (const node of this.#nodes.values()) if (this.#wanted(node)) this.#ranked.set(node.id, node);
    this.#order = [...this.#ranked.values()].sort(this.#compare);
  }

  #mend(id: string): void {
    const ranked = this.#ranked.get(id);
    const node = this.#nodes.get(id);
    if (ranked === node) return;
    if (ranked) this.#order.splice(this.#positionOf(ranked), 1);
    this.#ranked.delete(id);
    if (!node || !this.#wanted(node)) return;
    this.#order.splice(this.#positionOf(node), 0, node);
    this.#ranked.set(id, node);
  }

  /** Where the node is, or would have to go. */
  #positionOf(node: Candidate): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#order[middle]!;
      if (other !== node && this.#compare(other, node) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
