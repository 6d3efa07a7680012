import type { Candidate } from './candidate.js';
import { accepts } from './feasibility.js';
import { nodeFilters } from './filters/index.js';
import { compareByLoad } from './rank.js';
import { Surroundings } from './surroundings.js';
import type { Workload } from './workload.js';

/** Past this many changes since the last look, sorting anew is cheaper than mending. */
const MEND_AT_MOST = 256;

/**
 * The nodes that one kind of workload may be put on at all, the one with the most left first.
 *
 * It is kept from one placement to the next: what has changed in between is mended where it is, so that a placement costs
 * what has changed and not what exists.
 */
export class Ranking {
  readonly #nodes: ReadonlyMap<string, Candidate>;
  readonly #wanted: (node: Candidate) => boolean;
  readonly #compare: (a: Candidate, b: Candidate) => number;
  /** What is in the order, as it was when it was put there. */
  readonly #ranked = new Map<string, Candidate>();
  readonly #changed = new Set<string>();
  #order: Candidate[] = [];

  /** `nodes` is read again whenever a change is mended. */
  constructor(workload: Workload, nodes: ReadonlyMap<string, Candidate>) {
    const nobody = new Surroundings(workload, []);
    this.#nodes = nodes;
    this.#wanted = node => accepts(node, workload, nobody, nodeFilters);
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
