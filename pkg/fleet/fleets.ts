import { ranges, splitKey } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type FleetTotals, NodeFleet } from '../placement/index.js';
import { type Cache, type CacheChange, value } from '../store/index.js';
import { listReplicasOn, NODES_BY_ID, sumRequests, sumTotals, toCandidate } from './candidates.js';

interface Kept {
  readonly fleet: NodeFleet;
  /** Ids of nodes that have changed since they were last looked at. */
  readonly stale: Set<string>;
  /** What is on nodes that are no more, by their ids: it counts until it is cleared away. */
  readonly strays: Map<string, FleetTotals>;
}

/**
 * The nodes of every tenant that was asked for, kept up with the cache: a change to one node costs that one node.
 *
 * Placements that were decided but that the cache does not show yet count as made, so that two deployments placed at the
 * same time do not both take the last free port. Nothing depends on them after a crash: they only anticipate what the
 * store will say.
 */
export class TenantFleets {
  readonly #cache: Cache;
  readonly #kept = new Map<string, Kept>();
  readonly #assumed = new Map<string, Map<string, Replica>>();

  /** Follows the cache for as long as there is one. */
  constructor(cache: Cache) {
    this.#cache = cache;
    cache.subscribe(change => this.#note(change));
  }

  /** The nodes of a tenant as they are now. Never shows another tenant's. */
  async of(tenant: string): Promise<NodeFleet> {
    // Whoever asks may have been woken by a change of which the cache has not told us yet: it tells all in one go.
    await Promise.resolve();
    return this.now(tenant);
  }

  /** The nodes of a tenant, as far as we were told. */
  now(tenant: string): NodeFleet {
    return this.#fresh(tenant).fleet;
  }

  /** What the tenant has in all, as its quotas count it: what is on nodes that are no more, too. */
  totalsOf(tenant: string): FleetTotals {
    const { fleet, strays } = this.#fresh(tenant);
    return strays.size === 0 ? fleet.totals : sumTotals([fleet.totals, ...strays.values()]);
  }

  #fresh(tenant: string): Kept {
    const kept = this.#kept.get(tenant) ?? this.#build(tenant);
    for (const id of kept.stale) this.#refresh(kept, tenant, id);
    kept.stale.clear();
    return kept;
  }

  /** Counts these replicas, each with its node, until the returned function is called. */
  assume(placed: readonly Replica[]): () => void {
    for (const replica of placed) {
      const node = this.#assumed.get(replica.nodeId!) ?? new Map<string, Replica>();
      this.#assumed.set(replica.nodeId!, node.set(replica.uid, replica));
      this.#mark(replica.tenant, replica.nodeId);
    }
    return () => {
      for (const replica of placed) {
        const node = this.#assumed.get(replica.nodeId!);
        if (node?.get(replica.uid) === replica) node.delete(replica.uid);
        if (node?.size === 0) this.#assumed.delete(replica.nodeId!);
        this.#mark(replica.tenant, replica.nodeId);
      }
    };
  }

  /** Whether a replica of the tenant counts that the cache does not show: what is said of its nodes may yet change. */
  isAssuming(tenant: string): boolean {
    return [...this.#assumed.values()].some(node => [...node.values()].some(replica => replica.tenant === tenant));
  }

  #build(tenant: string): Kept {
    const nodes = this.#cache.list(ranges.of(ranges.nodes, tenant)).map(entry => value<StoredNode>(entry).id);
    const replicas = this.#cache.list(ranges.of(ranges.replicas, tenant)).map(entry => value<Replica>(entry).nodeId);
    const stale = new Set([...nodes, ...replicas].filter(id => id !== undefined));
    const kept: Kept = { fleet: new NodeFleet(), stale, strays: new Map() };
    this.#kept.set(tenant, kept);
    return kept;
  }

  #refresh({ fleet, strays }: Kept, tenant: string, id: string): void {
    const nodes = this.#cache.by(NODES_BY_ID, id).map(entry => value<StoredNode>(entry));
    const node = nodes.find(({ metadata }) => metadata.tenant === tenant);
    const assumed = this.#assumed.get(id);
    strays.delete(id);
    if (node) return fleet.put(toCandidate(node, this.#cache, assumed));
    fleet.remove(id);
    const left = sumRequests(listReplicasOn(id, this.#cache, assumed));
    if (left.replicas > 0) strays.set(id, left);
  }

  /** Nodes, their status, and replicas all carry the id of the node they are about. */
  #note({ key, entry, previous }: CacheChange): void {
    const isReplica = key.startsWith(ranges.replicas);
    if (!isReplica && !key.startsWith(ranges.nodes) && !key.startsWith(ranges.nodeStatuses)) return;
    const tenant = splitKey(key)[0] ?? '';
    if (!this.#kept.has(tenant)) return;
    for (const each of [previous, entry]) {
      if (!each) continue;
      this.#mark(tenant, isReplica ? value<Replica>(each).nodeId : value<{ readonly id: string }>(each).id);
    }
  }

  #mark(tenant: string, id: string | undefined): void {
    if (id !== undefined) this.#kept.get(tenant)?.stale.add(id);
  }
}
