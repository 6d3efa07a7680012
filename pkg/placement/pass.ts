import type { Refused } from '../../crds/scheduling/index.js';
import type { Candidate } from './candidate.js';
import { accepts, feasibility } from './feasibility.js';
import { filters, loadFilters } from './filters/index.js';
import { best, compareCandidates } from './rank.js';
import type { Surroundings } from './surroundings.js';
import { occupied, siblingsOn, type Workload } from './workload.js';

/**
 * One pass over the nodes for several replicas of one workload.
 *
 * Each replica goes to the node that ranks best when all before it are counted in. While there are places without a
 * replica of the deployment, those rank before all others and in the order of load, so they are found by one walk along
 * that order; only after it all nodes are compared. Nothing that is placed makes a node more able, so that what was refused
 * once in a pass need not be asked again.
 */
export class Pass {
  readonly #workload: Workload;
  readonly #around: Surroundings;
  readonly #fuller = new Map<string, Candidate>();
  readonly placed: Candidate[] = [];

  constructor(workload: Workload, around: Surroundings) {
    this.#workload = workload;
    this.#around = around;
  }

  /** Places as many of `count` replicas as can be, on nodes that every filter of nodes has let through. */
  run(count: number, order: readonly Candidate[]): void {
    const later: Candidate[] = [];
    for (const node of order) {
      if (this.placed.length === count) return;
      if (!this.#isFresh(node)) later.push(node);
      else if (this.#accepts(node)) later.push(this.#place(node));
    }
    this.#compareAll(count, later);
  }

  /** What every node says to one replica more. */
  refusals(nodes: Iterable<Candidate>): readonly Refused[] {
    return feasibility(this.#nowadays(nodes), this.#workload, this.#around, filters).refused;
  }

  #compareAll(count: number, nodes: readonly Candidate[]): void {
    const compare = compareCandidates(this.#workload, this.#around);
    let able = new Map(nodes.map(node => [node.id, node]));
    while (this.placed.length < count) {
      able = new Map([...able].filter(([, node]) => this.#accepts(node)));
      for (;;) {
        const node = best(able.values(), compare);
        if (!node) return;
        if (!this.#accepts(node)) break; // what was placed since may have closed others too
        able.set(node.id, this.#place(node));
        if (this.placed.length === count) return;
      }
    }
  }

  /** Neither on the node nor in its place is a replica of the deployment. */
  #isFresh(node: Candidate): boolean {
    return this.#around.siblingsNear(node) === 0 && siblingsOn(node, this.#workload).staying === 0;
  }

  #accepts(node: Candidate): boolean {
    return accepts(node, this.#workload, this.#around, loadFilters);
  }

  #place(node: Candidate): Candidate {
    const fuller = occupied(node, this.#workload);
    this.placed.push(node);
    this.#fuller.set(node.id, fuller);
    this.#around.add(node);
    return fuller;
  }

  *#nowadays(nodes: Iterable<Candidate>): Iterable<Candidate> {
    for (const node of nodes) yield this.#fuller.get(node.id) ?? node;
  }
}
