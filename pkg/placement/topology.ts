import { type Candidate, countSiblings, type Workload } from './model.js';

/** The place of a node: itself, or the value of its label. Undefined when it does not bear the label. */
export function findDomain(node: Candidate, topologyKey: string): string | undefined {
  return topologyKey === 'node' ? node.id : node.labels[topologyKey];
}

/**
 * What a filter must know beside the node itself: who is in which place, and how many replicas were placed in the same
 * pass. Each replica that is placed is added before the next is sought, so that replicas spread and do not overbook.
 */
export class TopologyCounts {
  readonly #workload: Workload;
  /** For each entry of `workload.apart`, how many of that deployment are in each place. */
  readonly #apart: readonly Map<string, number>[];
  readonly #siblings = new Map<string, number>();
  #placed = 0;

  /** `nodes` are at least those that hold a replica of the workload's own deployment or of one it must be apart from. */
  constructor(workload: Workload, nodes: Iterable<Candidate>) {
    this.#workload = workload;
    this.#apart = workload.antiAffinity.map(() => new Map());
    for (const node of nodes) {
      this.#count(node, name => node.replicasByDeployment.get(name)?.all ?? 0, countSiblings(node, workload).staying);
    }
  }

  /** Replicas placed in this pass. */
  get placed(): number {
    return this.#placed;
  }

  /** How many replicas of `workload.apart[position]` are in a place. */
  othersIn(position: number, place: string): number {
    return this.#apart[position]?.get(place) ?? 0;
  }

  /** How many of the workload's own replicas are to stay in the node's place, as far as spreading goes. */
  siblingsNear(node: Candidate): number {
    return this.#siblings.get(this.#spreadPlace(node)) ?? 0;
  }

  /** One replica of the workload more, on this node. */
  add(node: Candidate): void {
    this.#placed += 1;
    this.#count(node, name => (name === this.#workload.deployment ? 1 : 0), 1);
  }

  #count(node: Candidate, countOf: (deployment: string) => number, siblings: number): void {
    for (const [position, { deployment, topologyKey }] of this.#workload.antiAffinity.entries()) {
      const place = findDomain(node, topologyKey);
      const count = countOf(deployment);
      if (place !== undefined && count > 0) raise(this.#apart[position]!, place, count);
    }
    if (siblings > 0) raise(this.#siblings, this.#spreadPlace(node), siblings);
  }

  /** A node without the label is a place of its own. A label's value cannot hold a `/`. */
  #spreadPlace(node: Candidate): string {
    return findDomain(node, this.#workload.spreadOver) ?? `/${node.id}`;
  }
}

function raise(counts: Map<string, number>, place: string, by: number): void {
  counts.set(place, (counts.get(place) ?? 0) + by);
}
