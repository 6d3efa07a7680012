import type { RejectedNode } from '../../crds/scheduling/index.js';
import { checkNodes, passesFilters } from './feasibility.js';
import { filters, loadFilters } from './filters.js';
import { type Candidate, countSiblings, withReplicas, type Workload } from './model.js';
import { compareCandidates, findBest, NodeRanking } from './rank.js';
import { TopologyCounts } from './topology.js';

/** Kinds of workload whose ranking is kept. A kind beyond them costs a look at every node. */
const RANKINGS_KEPT = 32;

/** Where replicas of one workload go. */
export interface PlacementResult {
  /** One node for each replica that found one, in order. */
  readonly nodes: readonly Candidate[];
  /** How many found none. */
  readonly unplaced: number;
  /**
   * When some found none: what every node says to one replica more, all of the above counted in. Worked out when it is first
   * asked for, which must be before the fleet hears of anything else.
   */
  readonly refused: readonly RejectedNode[];
}

/** What is on all nodes together. */
export interface FleetTotals {
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
export class NodeFleet {
  readonly #nodes = new Map<string, Candidate>();
  readonly #rankings = new Map<string, NodeRanking>();
  /** Ids of the nodes that hold a replica of a deployment, by its name. */
  readonly #homes = new Map<string, Set<string>>();
  #totals: FleetTotals = { replicas: 0, cpu: 0, memory: 0 };

  constructor(nodes: Iterable<Candidate> = []) {
    for (const node of nodes) this.put(node);
  }

  get nodes(): Iterable<Candidate> {
    return this.#nodes.values();
  }

  get size(): number {
    return this.#nodes.size;
  }

  get totals(): FleetTotals {
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
  place(count: number, workload: Workload): PlacementResult {
    const pass = new PlacementPass(workload, this.countTopology(workload));
    pass.run(count, this.#ranking(workload).look());
    const unplaced = count - pass.placed.length;
    const all = this.nodes;
    let refused: readonly RejectedNode[] | undefined;
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
  countTopology(workload: Workload): TopologyCounts {
    const names = new Set([workload.deployment, ...workload.antiAffinity.map(({ deployment }) => deployment)]);
    const homes = new Set([...names].flatMap(name => [...(this.#homes.get(name) ?? [])]));
    return new TopologyCounts(
      workload,
      [...homes].map(id => this.#nodes.get(id)!),
    );
  }

  #ranking(workload: Workload): NodeRanking {
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
    const kept = this.#rankings.get(kind) ?? new NodeRanking(workload, this.#nodes);
    this.#rankings.delete(kind); // the latest used is the last, and the first is the first to go
    this.#rankings.set(kind, kept);
    const [oldest] = this.#rankings.keys();
    if (this.#rankings.size > RANKINGS_KEPT && oldest !== undefined) this.#rankings.delete(oldest);
    return kept;
  }

  #remember(node: Candidate): void {
    for (const name of node.replicasByDeployment.keys()) {
      const homes = this.#homes.get(name) ?? new Set();
      this.#homes.set(name, homes.add(node.id));
    }
    this.#count(node, 1);
  }

  #forget(node: Candidate | undefined): void {
    if (!node) return;
    for (const name of node.replicasByDeployment.keys()) {
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

/**
 * One pass over the nodes for several replicas of one workload.
 *
 * Each replica goes to the node that ranks best when all before it are counted in. While there are places without a
 * replica of the deployment, those rank before all others and in the order of load, so they are found by one walk along
 * that order; only after it all nodes are compared. Nothing that is placed makes a node more able, so that what was refused
 * once in a pass need not be asked again.
 */
export class PlacementPass {
  readonly #workload: Workload;
  readonly #around: TopologyCounts;
  readonly #fuller = new Map<string, Candidate>();
  readonly placed: Candidate[] = [];

  constructor(workload: Workload, around: TopologyCounts) {
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
  refusals(nodes: Iterable<Candidate>): readonly RejectedNode[] {
    return checkNodes(this.#nowadays(nodes), this.#workload, this.#around, filters).refused;
  }

  #compareAll(count: number, nodes: readonly Candidate[]): void {
    const compare = compareCandidates(this.#workload, this.#around);
    let able = new Map(nodes.map(node => [node.id, node]));
    while (this.placed.length < count) {
      able = new Map([...able].filter(([, node]) => this.#accepts(node)));
      for (;;) {
        const node = findBest(able.values(), compare);
        if (!node) return;
        if (!this.#accepts(node)) break; // what was placed since may have closed others too
        able.set(node.id, this.#place(node));
        if (this.placed.length === count) return;
      }
    }
  }

  /** Neither on the node nor in its place is a replica of the deployment. */
  #isFresh(node: Candidate): boolean {
    return this.#around.siblingsNear(node) === 0 && countSiblings(node, this.#workload).staying === 0;
  }

  #accepts(node: Candidate): boolean {
    return passesFilters(node, this.#workload, this.#around, loadFilters);
  }

  #place(node: Candidate): Candidate {
    const fuller = withReplicas(node, this.#workload);
    this.placed.push(node);
    this.#fuller.set(node.id, fuller);
    this.#around.add(node);
    return fuller;
  }

  *#nowadays(nodes: Iterable<Candidate>): Iterable<Candidate> {
    for (const node of nodes) yield this.#fuller.get(node.id) ?? node;
  }
}
