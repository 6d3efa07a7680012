import type { Replica } from '../../crds/replica/index.js';

/**
 * Placements that have been decided but that the cache does not show yet.
 *
 * They count as made, so that two deployments placed at the same time do not both take the last free port. Nothing
 * depends on them after a crash: they only anticipate what the store will say.
 */
export class Assumptions {
  readonly #byNode = new Map<string, Map<string, Replica>>();

  /** Replicas assumed to be on the node, by uid. */
  on(nodeId: string): ReadonlyMap<string, Replica> {
    return this.#byNode.get(nodeId) ?? new Map();
  }

  /** Counts these replicas, each with its node, until the returned function is called. */
  assume(placed: readonly Replica[]): () => void {
    for (const replica of placed) {
      const node = this.#byNode.get(replica.nodeId!) ?? new Map<string, Replica>();
      this.#byNode.set(replica.nodeId!, node.set(replica.uid, replica));
    }
    return () => {
      for (const replica of placed) {
        const node = this.#byNode.get(replica.nodeId!);
        node?.delete(replica.uid);
        if (node?.size === 0) this.#byNode.delete(replica.nodeId!);
      }
    };
  }
}
