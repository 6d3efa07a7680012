/** Fleets up to this size are explained whenever something has changed. */
const SMALL = 200;

/** How long one node is expected to take, times what everything else is to have beside it. */
const SHARE_MS_A_NODE = 0.01 * 5;

/**
 * Says when a deployment that waits already may have all nodes asked again why.
 *
 * Thousands of nodes times hundreds of deployments that wait would leave time for nothing else, whenever a node changes. So
 * explaining again what was explained before gets a fifth of the time, and each its turn; placing never waits for it.
 */
export class Explaining {
  readonly #turns = new Map<string, number>();
  #free = 0;

  /** How long the deployment has to wait for its turn. 0: it is its turn, and it has been taken. */
  waitFor(key: string, nodes: number, now: number): number {
    if (nodes <= SMALL) return 0;
    const turn = this.#turns.get(key) ?? this.#next(nodes, now);
    if (turn <= now) this.#turns.delete(key);
    else this.#turns.set(key, turn);
    return Math.max(0, turn - now);
  }

  /** The deployment no longer waits. */
  forget(key: string): void {
    this.#turns.delete(key);
  }

  #next(nodes: number, now: number): number {
    const turn = Math.max(now, this.#free);
    this.#free = turn + nodes * SHARE_MS_A_NODE;
    return turn;
  }
}
