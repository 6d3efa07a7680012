import type { Refused } from '../../crds/scheduling/index.js';
import type { Candidate } from './candidate.js';
import { Pass } from './pass.js';
import { Ranking } from './ranking.js';
import { Surroundings } from './surroundings.js';
import type { Workload } from './workload.js';

/** Kinds of workload whose ranking is kept. A kind beyond them costs a look at every node. */
const RANKINGS_KEPT = 32;

/** Where replicas of one workload go. */
export interface Placed {
  /** One node for each replica that found one, in order. */
  readonly nodes: readonly Candidate[];
  /** How many found none. */
  readonly unplaced: number;
  /**
   * When some found none: what every node says to one replica more, all of the above counted in. Worked out when it is first
   * asked for, which must be before the fleet hears of anything else.
   */
  readonly refused: readonly Refused[];
}

/** What is on all nodes together. */
export interface Totals {
  readonly replicas: number;
  readonly cpu: number;
  readonly memory: number;
}

/**
 * The nodes of one tenant, kept ready for placement.
 *
 * It is told of each node that changes, and keeps what placement would otherwise have to work out from all nodes each time:
 * an order for each kind of workload, where each deployment is, and sums.
 */
export class Fleet {
  readonly #nodes = new Map<string, Candidate>();
  readonly #rankings = new Map<string, Ranking>();
  /** Ids of the nodes that hold a replica of a deployment, by its name. */
  readonly #homes = new Map<string, Set<string>>();
  #totals: Totals = { replicas: 0, cpu: 0, memory: 0 };

  constructor(nodes: Iterable<Candidate> = []) {
    for (const node of nodes) this.put(node);
  }

  get nodes(): Iterable<Candidate> {
    return this.#nodes.values();
  }

  get size(): number {
    return this.#nodes.size;
  }

  get totals(): Totals {
    return this.#totals;
  }

  node(id: string): Candidate | undefined {
    return this.#nodes.get(id);
  }

  /** The node as it is now. */
  put(node: Candidate): void {
    this.#forget(this.#nodes.get(node.id));
    this.#nodes.set(node.id, node);
    this.#remember(node);
  }

  /** The node is gone. */
  remove(id: string): void {
    this.#forget(this.#nodes.get(id));
    this.#nodes.delete(id);
  }

  /** Finds nodes for `count` replicas of one workload. Nothing is kept of it: whoever decides says so with `put`. */
  place(count: number, workload: Workload): Placed {
    const pass = new Pass(workload, this.around(workload));
    pass.run(count, this.#ranking(workload).look());
    const unplaced = count - pass.placed.length;
    const all = this.nodes;
    let refused: readonly Refused[] | undefined;
    return {
      nodes: pass.placed,
      unplaced,
      get refused() {
        refused ??= unplaced > 0 ? pass.refusals(all) : [];
        return refused;
      },
    };
  }

  /** What filters must know beside a node. */
  around(workload: Workload): Surroundings {
    const names = new Set([workload.deployment, ...workload.apart.map(({ deployment }) => deployment)]);
    const homes = new Set([...names].flatMap(name => [...(this.#homes.get(name) ?? [])]));
    return new Surroundings(
      workload,
      [...homes].map(id => this.#nodes.get(id)!),
    );
  }

  #ranking(workload: Workload): Ranking {
    const { platform, namedNode, residency, constraints, requests } = workload;
    const asks = [Boolean(requests.cpu), Boolean(requests.memory)];
    const kind = JSON.stringify([
      platform,
      namedNode,
      residency?.asked,
      residency?.regions.enforced,
      constraints,
      ...asks,
    ]);
    const kept = this.#rankings.get(kind) ?? new Ranking(workload, this.#nodes);
    this.#rankings.delete(kind); // the latest used is the last, and the first is the first to go
    this.#rankings.set(kind, kept);
    const [oldest] = this.#rankings.keys();
    if (this.#rankings.size > RANKINGS_KEPT && oldest !== undefined) this.#rankings.delete(oldest);
    return kept;
  }

  #remember(node: Candidate): void {
    for (const name of node.residents.keys()) {
      const homes = this.#homes.get(name) ?? new Set();
      this.#homes.set(name, homes.add(node.id));
    }
    this.#count(node, 1);
  }

  #forget(node: Candidate | undefined): void {
    if (!node) return;
    for (const name of node.residents.keys()) {
      const homes = this.#homes.get(name);
      homes?.delete(node.id);
      if (homes?.size === 0) this.#homes.delete(name);
    }
    this.#count(node, -1);
  }

  #count({ id, replicas, used }: Candidate, sign: 1 | -1): void {
    const { replicas: all, cpu, memory } = this.#totals;
    this.#totals = { replicas: all + sign * replicas, cpu: cpu + sign * used.cpu, memory: memory + sign * used.memory };
    for (const ranking of this.#rankings.values()) ranking.note(id);
  }
}
