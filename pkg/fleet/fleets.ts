import { ranges, splitKey } from '../../crds/keys/index.js';
import { listCountedRanges, type QuotaKind, quotaKinds } from '../../crds/kinds/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type FleetTotals, NodeFleet } from '../placement/index.js';
import { type Cache, type CacheChange, type Entry, listValues, value } from '../store/index.js';
import { findNode, listReplicasOn, parseRequests, sumRequests, toCandidate } from './candidates.js';

interface TenantFleet {
  readonly fleet: NodeFleet;
  /** Ids of nodes that have changed since they were last read. */
  readonly stale: Set<string>;
  /** The load on nodes that were removed, by their ids: it counts until its replicas are deleted. */
  readonly strays: Map<string, FleetTotals>;
}

/**
 * The nodes of each tenant, kept up to date with the cache: a change to one node costs that one node.
 *
 * Placements that were decided but that the cache does not show yet count as made, so that two deployments placed at the
 * same time do not both take the last free port. They can be lost in a crash: they only anticipate what the store will
 * show.
 */
export class TenantFleets {
  readonly #cache: Cache;
  readonly #tenants = new Map<string, TenantFleet>();
  /** Assumed replicas, by the id of their node and by uid. */
  readonly #assumed = new Map<string, Map<string, Replica>>();

  /** Subscribes to the cache for as long as the cache exists. */
  constructor(cache: Cache) {
    this.#cache = cache;
    cache.subscribe(change => this.notice(change));
  }

  /**
   * Takes note of a change. The cache delivers each; a subscriber that gets it earlier may call this, to read what the change amounts
   * to. Nodes, their statuses and replicas all carry the id of their node.
   */
  notice({ key, entry, previous }: CacheChange): void {
    const isReplica = key.startsWith(ranges.replicas);
    if (!isReplica && !key.startsWith(ranges.nodes) && !key.startsWith(ranges.nodeStatuses)) return;
    const tenant = splitKey(key)[0] ?? '';
    if (!this.#tenants.has(tenant)) return;
    for (const each of [previous, entry]) {
      if (!each) continue;
      this.#mark(tenant, isReplica ? value<Replica>(each).nodeId : value<{ readonly id: string }>(each).id);
    }
  }

  /** The nodes of a tenant. Never shows another tenant's. */
  async read(tenant: string): Promise<NodeFleet> {
    // The change that woke the caller may not have reached this subscriber yet: the cache notifies all of them in one go.
    await Promise.resolve();
    return this.readNow(tenant);
  }

  /** The nodes of a tenant, without the changes of which the cache is still notifying its subscribers. */
  readNow(tenant: string): NodeFleet {
    return this.#refresh(tenant).fleet;
  }

  /** What counts against the quotas of a tenant, replicas on removed nodes included. */
  readTotals(tenant: string): FleetTotals {
    const { fleet, strays } = this.#refresh(tenant);
    let { replicas, cpu, memory } = fleet.totals;
    for (const stray of strays.values()) {
      replicas += stray.replicas;
      cpu += stray.cpu;
      memory += stray.memory;
    }
    return { replicas, cpu, memory };
  }

  /** Counts these replicas, each on its node, until the returned function is called. */
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

  /** Whether an assumed replica of the tenant counts: rejections by its nodes may still change. */
  isAssuming(tenant: string): boolean {
    return [...this.#assumed.values()].some(node => [...node.values()].some(replica => replica.tenant === tenant));
  }

  #refresh(tenant: string): TenantFleet {
    const state = this.#tenants.get(tenant) ?? this.#build(tenant);
    for (const id of state.stale) this.#refreshNode(state, tenant, id);
    state.stale.clear();
    return state;
  }

  #build(tenant: string): TenantFleet {
    const nodes = listValues<StoredNode>(this.#cache, ranges.of(ranges.nodes, tenant)).map(({ id }) => id);
    const replicas = listValues<Replica>(this.#cache, ranges.of(ranges.replicas, tenant)).map(({ nodeId }) => nodeId);
    const stale = new Set([...nodes, ...replicas].filter(id => id !== undefined));
    const state: TenantFleet = { fleet: new NodeFleet(), stale, strays: new Map() };
    this.#tenants.set(tenant, state);
    return state;
  }

  #refreshNode({ fleet, strays }: TenantFleet, tenant: string, id: string): void {
    const node = findNode(id, tenant, this.#cache);
    const assumed = this.#assumed.get(id);
    strays.delete(id);
    if (node) return fleet.put(toCandidate(node, this.#cache, assumed));
    fleet.remove(id);
    const stray = sumRequests(listReplicasOn(id, this.#cache, assumed));
    if (stray.replicas > 0) strays.set(id, stray);
  }

  #mark(tenant: string, id: string | undefined): void {
    if (id !== undefined) this.#tenants.get(tenant)?.stale.add(id);
  }
}

/** How much of each quota one tenant uses. */
export type QuotaCounts = Readonly<Record<QuotaKind, number>>;

/** The kinds that are counted by their records alone. */
const COUNTED_RANGES = listCountedRanges();

const NO_USAGE: QuotaCounts = Object.freeze(
  Object.fromEntries(quotaKinds.map(kind => [kind, 0])) as Record<QuotaKind, number>,
);

/**
 * The quota usage of every tenant, counted as the cache changes: reading it costs nothing, however large the tenant is.
 *
 * A container counts from the moment its replica has a node until the replica's record is deleted, as in the scheduler.
 */
export class TenantUsage {
  readonly #counts = new Map<string, Record<QuotaKind, number>>();

  /** Subscribes to the cache. Must be created before the cache is fed. */
  constructor(cache: Cache) {
    cache.subscribe(({ key, entry, previous }) => {
      if (key.startsWith(ranges.replicas)) {
        if (previous) this.#countContainer(key, previous, -1);
        if (entry) this.#countContainer(key, entry, 1);
        return;
      }
      if (key.startsWith(ranges.backups)) {
        this.#countsOf(key).backupBytes += readBytes('bytes', entry) - readBytes('bytes', previous);
      } else if (key.startsWith(ranges.volumes)) {
        this.#countsOf(key).volumeBytes += readBytes('sizeBytes', entry) - readBytes('sizeBytes', previous);
      }
      const counted = COUNTED_RANGES.find(([prefix]) => key.startsWith(prefix));
      const difference = Number(entry !== undefined) - Number(previous !== undefined);
      if (counted && difference !== 0) this.#countsOf(key)[counted[1]] += difference;
    });
  }

  of(tenant: string): QuotaCounts {
    return this.#counts.get(tenant) ?? NO_USAGE;
  }

  #countContainer(key: string, entry: Entry, sign: 1 | -1): void {
    const { nodeId, template } = value<Replica>(entry);
    if (nodeId === undefined) return;
    const counts = this.#countsOf(key);
    const { cpu = 0, memory = 0 } = parseRequests(template);
    counts.containers += sign;
    counts.cpu += sign * cpu;
    counts.memory += sign * memory;
  }

  #countsOf(key: string): Record<QuotaKind, number> {
    const tenant = splitKey(key)[0] ?? '';
    const counts = this.#counts.get(tenant) ?? { ...NO_USAGE };
    this.#counts.set(tenant, counts);
    return counts;
  }
}

/** How much a backup or a volume holds. One of another release may not say. */
function readBytes(member: 'bytes' | 'sizeBytes', entry: Entry | undefined): number {
  const { [member]: bytes } = entry ? value<Partial<Record<typeof member, number>>>(entry) : {};
  return Number.isSafeInteger(bytes) ? bytes! : 0;
}
