import { ranges, splitKey } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { listCountedRanges, type QuotaKind, quotaKinds } from '../../crds/kinds/index.js';
import { type Cache, type CacheChange, type Entry, value } from '../store/index.js';
import { parseRequests } from './candidates.js';

/** How much of each kind one tenant has. */
export type QuotaCounts = Readonly<Record<QuotaKind, number>>;

type Counts = Record<QuotaKind, number>;

/** What is counted by its records alone. */
const RECORDS = listCountedRanges();

/**
 * What every tenant has, counted as the cache changes: asking costs nothing, however much there is.
 *
 * A container counts from the moment its replica has a node until the replica's record is gone, as it does for the
 * scheduler.
 */
export class TenantUsage {
  readonly #counts = new Map<string, Counts>();

  /** Follows the cache. To be made before the cache is fed. */
  constructor(cache: Cache) {
    cache.subscribe(change => this.#note(change));
  }

  of(tenant: string): QuotaCounts {
    return this.#counts.get(tenant) ?? NOTHING;
  }

  #note({ key, entry, previous }: CacheChange): void {
    if (key.startsWith(ranges.replicas)) {
      if (previous) this.#container(key, previous, -1);
      if (entry) this.#container(key, entry, 1);
      return;
    }
    const record = RECORDS.find(([prefix]) => key.startsWith(prefix));
    const difference = Number(entry !== undefined) - Number(previous !== undefined);
    if (record && difference !== 0) this.#of(key)[record[1]] += difference;
  }

  #container(key: string, entry: Entry, sign: 1 | -1): void {
    const { nodeId, template } = value<Replica>(entry);
    if (nodeId === undefined) return;
    const counts = this.#of(key);
    const { cpu = 0, memory = 0 } = parseRequests(template);
    counts.containers += sign;
    counts.cpu += sign * cpu;
    counts.memory += sign * memory;
  }

  #of(key: string): Counts {
    const tenant = splitKey(key)[0] ?? '';
    const counts = this.#counts.get(tenant) ?? { ...NOTHING };
    this.#counts.set(tenant, counts);
    return counts;
  }
}

const NOTHING: QuotaCounts = Object.freeze(Object.fromEntries(quotaKinds.map(kind => [kind, 0])) as Counts);
