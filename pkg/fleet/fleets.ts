import { ranges, segmentsOf } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { Fleet } from '../placement/index.js';
import { type Cache, type CacheChange, value } from '../store/index.js';
import { candidateOf } from './candidate-of.js';
import { NODES_BY_ID } from './indexes.js';

interface Kept {
  readonly fleet: Fleet;
  /** Ids of nodes that have changed since they were last looked at. */
  readonly stale: Set<string>;
}

/**
 * The nodes of every tenant that was asked for, kept up with the cache: a change to one node costs that one node.
 *
 * Placements that were decided but that the cache does not show yet count as made, so that two deployments placed at the
 * same time do not both take the last free port. Nothing depends on them after a crash: they only anticipate what the
 * store will say.
 */
export class Fleets {
  readonly #cache: Cache;
  readonly #kept = new Map<string, Kept>();
  readonly #assumed = new Map<string, Map<string, Replica>>();

  /** Follows the cache for as long as there is one. */
  constructor(cache: Cache) {
    this.#cache = cache;
    cache.subscribe(change => this.#note(change));
  }

  /** The nodes of a tenant as they are now. Never shows another tenant's. */
  async of(tenant: string): Promise<Fleet> {
    // Whoever asks may have been woken by a change of which the cache has not told us yet: it tells all in one go.
    await Promise.resolve();
    const kept = this.#kept.get(tenant) ?? this.#build(tenant);
    for (const id of kept.stale) this.#refresh(kept.fleet, tenant, id);
    kept.stale.clear();
    return kept.fleet;
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
    const nodes = this.#cache.list(ranges.of(ranges.nodes, tenant)).map(entry => value<StoredNode>(entry));
    const kept = { fleet: new Fleet(), stale: new Set(nodes.map(({ id }) => id)) };
    this.#kept.set(tenant, kept);
    return kept;
  }

  #refresh(fleet: Fleet, tenant: string, id: string): void {
    const nodes = this.#cache.by(NODES_BY_ID, id).map(entry => value<StoredNode>(entry));
    const node = nodes.find(({ metadata }) => metadata.tenant === tenant);
    if (node) fleet.put(candidateOf(node, this.#cache, this.#assumed.get(id)));
    else fleet.remove(id);
  }

  /** Nodes, their status, and replicas all carry the id of the node they are about. */
  #note({ key, entry, previous }: CacheChange): void {
    const isReplica = key.startsWith(ranges.replicas);
    if (!isReplica && !key.startsWith(ranges.nodes) && !key.startsWith(ranges.nodeStatuses)) return;
    const tenant = segmentsOf(key)[0] ?? '';
    if (!this.#kept.has(tenant)) return;
    for (const each of [entry, previous]) {
      if (!each) continue;
      this.#mark(tenant, isReplica ? value<Replica>(each).nodeId : value<{ readonly id: string }>(each).id);
    }
  }

  #mark(tenant: string, id: string | undefined): void {
    if (id !== undefined) this.#kept.get(tenant)?.stale.add(id);
  }
}
