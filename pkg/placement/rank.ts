import { nodeFilters } from './filters.js';
import { type Amounts, type Candidate, countSiblings, resourceKinds, TopologyCounts, type Workload } from './model.js';

/** The scores of a node that the filters accept, the most important first. */
export interface NodeScores {
  /** Replicas of the same deployment in the node's topology domain: fewer are better. */
  readonly siblingsNear: number;
  /** Replicas of the same deployment on the node: fewer are better. */
  readonly siblings: number;
  /** The free share of each requested resource, in millionths, summed: more is better. */
  readonly free: number;
  /** Replicas of any deployment on the node: fewer are better. */
  readonly replicas: number;
}

export function scoreNode(node: Candidate, workload: Workload, counts: TopologyCounts): NodeScores {
  return {
    siblingsNear: counts.countSiblingsNear(node),
    siblings: countSiblings(node, workload).staying,
    free: computeFreeShare(node, workload.requests),
    replicas: node.replicas,
  };
}

/** Sorts the better of two nodes first. Negative: `a` is better. */
export type CompareCandidates = (a: Candidate, b: Candidate) => number;

/**
 * Spreads replicas over topology domains and over nodes, then prefers the node with the largest free share of what is
 * requested, then the one with fewer replicas, then the name. Two nodes are never equal.
 */
export function compareCandidates(workload: Workload, counts: TopologyCounts): CompareCandidates {
  const { requests } = workload;
  return (a, b) =>
    counts.countSiblingsNear(a) - counts.countSiblingsNear(b) ||
    countSiblings(a, workload).staying - countSiblings(b, workload).staying ||
    computeFreeShare(b, requests) - computeFreeShare(a, requests) ||
    compareEquallyFree(a, b);
}

function compareEquallyFree(a: Candidate, b: Candidate): number {
  return a.replicas - b.replicas || compareByName(a, b);
}

/** For a moment two nodes may have one name: one that was removed, and the one that was enrolled in its place. */
function compareByName(a: Candidate, b: Candidate): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** The best of the nodes, or undefined when there is none. */
export function findBest(nodes: Iterable<Candidate>, compare: CompareCandidates): Candidate | undefined {
  let best: Candidate | undefined;
  for (const node of nodes) if (!best || compare(node, best) < 0) best = node;
  return best;
}

/** A share, so that nodes of different sizes compare; in whole millionths, so that rounding cannot change the order. */
function computeFreeShare({ capacity, used }: Candidate, requests: Partial<Amounts>): number {
  let share = 0;
  for (const kind of resourceKinds) {
    if (!requests[kind] || capacity[kind] <= 0) continue;
    share += Math.max(0, Math.floor(((capacity[kind] - used[kind]) * 1e6) / capacity[kind]));
  }
  return share;
}

/** With more changes than this, sorting all nodes is cheaper than moving the changed ones. */
const MOVE_AT_MOST = 256;

/**
 * The nodes that accept one kind of workload by themselves, the least loaded first.
 *
 * It is kept from one placement to the next and only changed nodes are moved, so that a placement costs what has changed
 * and not what exists.
 */
export class NodeRanking {
  readonly #nodes: ReadonlyMap<string, Candidate>;
  readonly #accepts: (node: Candidate) => boolean;
  readonly #requests: Partial<Amounts>;
  /** The nodes in the order, each as it was when it was inserted. */
  readonly #ranked = new Map<string, Candidate>();
  readonly #changed = new Set<string>();
  #order: Candidate[] = [];
  /** The free share of the node at each position: it is compared far more often than it changes. */
  #free: number[] = [];

  /** `nodes` is read again for every change. */
  constructor(workload: Workload, nodes: ReadonlyMap<string, Candidate>) {
    const noCounts = new TopologyCounts(workload, []);
    this.#nodes = nodes;
    this.#accepts = node => nodeFilters.every(filter => filter.accepts(node, workload, noCounts));
    this.#requests = workload.requests;
    this.#sort();
  }

  /** Records that a node has changed, appeared or gone. */
  markChanged(id: string): void {
    this.#changed.add(id);
  }

  /** The present order. It is changed in place: the caller must not keep it. */
  list(): readonly Candidate[] {
    if (this.#changed.size > MOVE_AT_MOST) this.#sort();
    else for (const id of this.#changed) this.#move(id);
    this.#changed.clear();
    return this.#order;
  }

  #sort(): void {
    this.#ranked.clear();
    for (const node of this.#nodes.values()) if (this.#accepts(node)) this.#ranked.set(node.id, node);
    const rated = [...this.#ranked.values()].map(node => ({ node, free: computeFreeShare(node, this.#requests) }));
    rated.sort((a, b) => b.free - a.free || compareEquallyFree(a.node, b.node));
    this.#order = rated.map(({ node }) => node);
    this.#free = rated.map(({ free }) => free);
  }

  #move(id: string): void {
    const ranked = this.#ranked.get(id);
    const node = this.#nodes.get(id);
    if (ranked === node) return;
    if (ranked) {
      const at = this.#findPosition(ranked, computeFreeShare(ranked, this.#requests));
      this.#order.splice(at, 1);
      this.#free.splice(at, 1);
    }
    this.#ranked.delete(id);
    if (!node || !this.#accepts(node)) return;
    const free = computeFreeShare(node, this.#requests);
    const at = this.#findPosition(node, free);
    this.#order.splice(at, 0, node);
    this.#free.splice(at, 0, free);
    this.#ranked.set(id, node);
  }

  /** The position of the node, or the one to insert it at. */
  #findPosition(node: Candidate, free: number): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#order[middle]!;
      const order = free - this.#free[middle]! || (other === node ? 0 : compareEquallyFree(other, node));
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
