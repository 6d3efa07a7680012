import type { RejectedNode } from '../../crds/scheduling/index.js';
import { loadFilters, rejectNodes } from './filters.js';
import { type Candidate, countSiblings, TopologyCounts, withReplicas, type Workload } from './model.js';
import { compareCandidates, findBest, NodeRanking } from './rank.js';

/** Kinds of workload whose ranking is kept. The first placement of any other kind sorts all nodes. */
const RANKINGS_KEPT = 32;

/** Where replicas of one workload go. */
export interface PlacementResult {
  /** The node of each replica that was placed, in order. */
  readonly nodes: readonly Candidate[];
  /** How many replicas have no node. */
  readonly unplaced: number;
  /**
   * Why every node rejects one more replica, when some have no node. Computed on first access, which must come before the
   * fleet changes.
   */
  readonly refused: readonly RejectedNode[];
}

/** Replicas of one workload that are to be placed. */
export interface PlacementGroup {
  readonly count: number;
  readonly workload: Workload;
}

/** Sums over all nodes. */
export interface FleetTotals {
  readonly replicas: number;
  readonly cpu: number;
  readonly memory: number;
}

/**
 * The nodes of one tenant, indexed for placement.
 *
 * Callers `put` and `remove` nodes as they change. The fleet keeps what placement would otherwise compute from all nodes
 * each time: a ranking for each kind of workload, the nodes of each deployment, and sums.
 */
export class NodeFleet {
  readonly #nodes = new Map<string, Candidate>();
  readonly #rankings = new Map<string, NodeRanking>();
  /** Ids of the nodes that hold a replica of a deployment, by its name. */
  readonly #nodesByDeployment = new Map<string, Set<string>>();
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

  /** Adds a node, or replaces it by its present state. */
  put(node: Candidate): void {
    this.remove(node.id);
    this.#nodes.set(node.id, node);
    for (const name of node.replicasByDeployment.keys()) {
      const holders = this.#nodesByDeployment.get(name) ?? new Set();
      this.#nodesByDeployment.set(name, holders.add(node.id));
    }
    this.#count(node, 1);
  }

  remove(id: string): void {
    const node = this.#nodes.get(id);
    if (!node) return;
    this.#nodes.delete(id);
    for (const name of node.replicasByDeployment.keys()) {
      const holders = this.#nodesByDeployment.get(name);
      holders?.delete(id);
      if (holders?.size === 0) this.#nodesByDeployment.delete(name);
    }
    this.#count(node, -1);
  }

  /** Finds nodes for `count` replicas of one workload. The fleet stays as it is: the caller commits with `put`. */
  place(count: number, workload: Workload): PlacementResult {
    const pass = new PlacementPass(workload, this.countTopology(workload));
    pass.run(count, this.#findRanking(workload).list());
    const unplaced = count - pass.placed.length;
    const nodes = this.#nodes;
    let refused: readonly RejectedNode[] | undefined;
    return {
      nodes: pass.placed,
      unplaced,
      get refused() {
        refused ??= unplaced > 0 ? pass.rejectNodes(nodes.values()) : [];
        return refused;
      },
    };
  }

  /** The same for several workloads: each finds the nodes and the quotas as the earlier ones leave them. The fleet stays as it is. */
  placeEach(groups: readonly PlacementGroup[]): readonly PlacementResult[] {
    const [only, ...others] = groups;
    if (only && others.length === 0) return [this.place(only.count, only.workload)];
    const before = new Map<string, Candidate>();
    const taken = new Map<string, number>();
    const results = groups.map(({ count, workload }) => {
      const quotas = workload.quotas.map(use => ({ ...use, used: use.used + (taken.get(use.kind) ?? 0) }));
      const { nodes, unplaced, refused } = this.place(count, { ...workload, quotas });
      for (const { kind, asked } of quotas) taken.set(kind, (taken.get(kind) ?? 0) + asked * nodes.length);
      for (const { id } of nodes) {
        const node = this.#nodes.get(id)!;
        if (!before.has(id)) before.set(id, node);
        this.put(withReplicas(node, workload));
      }
      return { nodes, unplaced, refused };
    });
    for (const node of before.values()) this.put(node);
    return results;
  }

  /** Counts the replicas that matter to the workload by topology domain. */
  countTopology(workload: Workload): TopologyCounts {
    const names = new Set([workload.deployment, ...workload.antiAffinity.map(({ deployment }) => deployment)]);
    const ids = new Set([...names].flatMap(name => [...(this.#nodesByDeployment.get(name) ?? [])]));
    return new TopologyCounts(
      workload,
      [...ids].map(id => this.#nodes.get(id)!),
    );
  }

  #findRanking(workload: Workload): NodeRanking {
    const { platform, namedNode, residency, constraints, needs = [], networks, volumes, requests } = workload;
    const requested = [Boolean(requests.cpu), Boolean(requests.memory)];
    const { asked, regions } = residency ?? {};
    const provided = volumes.filter(({ refusal }) => refusal === undefined);
    const places = [...networks, ...provided].map(({ nodeId = '' }) => nodeId);
    if (provided.length < volumes.length) places.push('');
    const rules = [platform, namedNode, asked, regions?.enforced, constraints, needs];
    const kind = JSON.stringify([...rules, places, ...requested]);
    const ranking = this.#rankings.get(kind) ?? new NodeRanking(workload, this.#nodes);
    this.#rankings.delete(kind); // re-inserted as the last: the first is the least recently used
    this.#rankings.set(kind, ranking);
    const [oldest] = this.#rankings.keys();
    if (this.#rankings.size > RANKINGS_KEPT && oldest !== undefined) this.#rankings.delete(oldest);
    return ranking;
  }

  #count({ id, replicas, used }: Candidate, sign: 1 | -1): void {
    const { replicas: all, cpu, memory } = this.#totals;
    this.#totals = { replicas: all + sign * replicas, cpu: cpu + sign * used.cpu, memory: memory + sign * used.memory };
    for (const ranking of this.#rankings.values()) ranking.markChanged(id);
  }
}

/**
 * One pass over the nodes for several replicas of one workload.
 *
 * Each replica goes to the node that ranks best with all earlier replicas counted. Nodes in topology domains without a
 * replica of the deployment rank before all others and in the order of load, so one walk along the ranking finds them;
 * only after it all nodes are compared. A placement never makes another node acceptable, so a node that was rejected
 * once in a pass is not checked again.
 */
class PlacementPass {
  readonly #workload: Workload;
  readonly #counts: TopologyCounts;
  /** Nodes that were given replicas in this pass, with those replicas. */
  readonly #changed = new Map<string, Candidate>();
  readonly placed: Candidate[] = [];

  constructor(workload: Workload, counts: TopologyCounts) {
    this.#workload = workload;
    this.#counts = counts;
  }

  /** Places as many of `count` replicas as possible. `ranking` holds the nodes that the node filters accept. */
  run(count: number, ranking: readonly Candidate[]): void {
    const others: Candidate[] = [];
    for (const node of ranking) {
      if (this.placed.length === count) return;
      if (this.#hasSiblings(node)) others.push(node);
      else if (this.#accepts(node)) others.push(this.#place(node));
    }
    this.#compareAll(count, others);
  }

  /** Why each node rejects one more replica. */
  rejectNodes(nodes: Iterable<Candidate>): readonly RejectedNode[] {
    const present = Array.from(nodes, node => this.#changed.get(node.id) ?? node);
    return rejectNodes(present, this.#workload, this.#counts);
  }

  #compareAll(count: number, nodes: readonly Candidate[]): void {
    const compare = compareCandidates(this.#workload, this.#counts);
    let able = new Map(nodes.map(node => [node.id, node]));
    while (this.placed.length < count) {
      able = new Map([...able].filter(([, node]) => this.#accepts(node)));
      for (;;) {
        const node = findBest(able.values(), compare);
        if (!node) return;
        if (!this.#accepts(node)) break; // the latest placements may exclude further nodes too
        able.set(node.id, this.#place(node));
        if (this.placed.length === count) return;
      }
    }
  }

  /** Whether a replica of the deployment is on the node or in its topology domain. */
  #hasSiblings(node: Candidate): boolean {
    return this.#counts.countSiblingsNear(node) > 0 || countSiblings(node, this.#workload).staying > 0;
  }

  #accepts(node: Candidate): boolean {
    return loadFilters.every(filter => filter.accepts(node, this.#workload, this.#counts));
  }

  #place(node: Candidate): Candidate {
    const changed = withReplicas(node, this.#workload);
    this.placed.push(node);
    this.#changed.set(node.id, changed);
    this.#counts.add(node);
    return changed;
  }
}
