import { CompactedFault, StoreUnavailableFault } from '../faults.js';
import type { Entry, Revision } from '../entry.js';
import type { Listing, ListingPage, PageOptions } from '../store.js';
import type { EtcdClient } from './etcd-client.js';
import { AnswerLostFault, OutOfRangeFault } from './grpc.js';
import {
  decodeRange,
  encodeRange,
  computeKeyAfter,
  type KeyRange,
  toRangeBelow,
  type RangeRequest,
  type RangeResponse,
} from './messages.js';

/** A list, and the cluster that it is of. */
export interface ClusterListing extends Listing {
  readonly clusterId: string;
}

export interface ListOptions {
  readonly at?: Revision;
  /** Leaves the bytes of the entries empty. */
  readonly keysOnly?: boolean;
  /** Prefixes whose entries are not read. */
  readonly leavesOut?: readonly string[];
}

const LIST_ATTEMPTS = 5;
/** How often a page is halved within one list. */
const HALVE_AT_MOST = 3;

/** Linearizable reads below one root. Keys go in and come out without it. */
export class EtcdReads {
  readonly #client: EtcdClient;
  readonly #root: string;
  readonly #pageSize: number;
  /** Entries that are asked for at once: at most a page. */
  #limit: number;
  #seen: Revision = 0;

  constructor(client: EtcdClient, root: string, pageSize: number) {
    this.#client = client;
    this.#root = root;
    this.#pageSize = pageSize;
    this.#limit = pageSize;
  }

  /** The highest revision of any answer so far: whatever is sent after reading it is made later. */
  get seen(): Revision {
    return this.#seen;
  }

  saw(revision: Revision): void {
    if (revision > this.#seen) this.#seen = revision;
  }

  async entry(key: string, at?: Revision): Promise<Entry | undefined> {
    const answer = await this.#range({ key: this.#root + key, ...(at === undefined ? {} : { revision: at }) });
    return answer.entries[0];
  }

  async revision(): Promise<Revision> {
    const { revision } = await this.#range({ key: this.#root, keysOnly: true });
    return revision;
  }

  /** Distinguishes an etcd from another that has taken its place. */
  async clusterId(): Promise<string> {
    const { clusterId } = await this.#range({ key: this.#root, keysOnly: true });
    return clusterId;
  }

  /** Everything below `prefix`, in pages, all at one revision. */
  async list(prefix: string, options: ListOptions = {}): Promise<ClusterListing> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pages(prefix, options);
      } catch (thrown) {
        // Compacted between two pages: begin again at a newer revision.
        if (!(thrown instanceof CompactedFault) || options.at !== undefined || attempt === LIST_ATTEMPTS) throw thrown;
      }
    }
  }

  /** One page of what is below `prefix`. */
  async page(prefix: string, { after, limit, at, keysOnly = false }: PageOptions): Promise<ListingPage> {
    const { key: first, end } = toRangeBelow(this.#root + prefix);
    const key = after === undefined ? first : computeKeyAfter(this.#root + after);
    const { entries, revision, more } = await this.#page(
      { key, end, keysOnly, ...(at === undefined ? {} : { revision: at }) },
      limit,
    );
    return { entries, revision: at ?? revision, more };
  }

  async #pages(prefix: string, { at, keysOnly = false, leavesOut = [] }: ListOptions): Promise<ClusterListing> {
    const entries: Entry[] = [];
    let revision = at;
    let clusterId = '';
    for (const { key: first, end } of listRangesBetween(this.#root, prefix, leavesOut)) {
      for (let key: string | undefined = first; key !== undefined; ) {
        const page: RangeResponse = await this.#page({
          key,
          end,
          keysOnly,
          ...(revision === undefined ? {} : { revision }),
        });
        revision ??= page.revision;
        clusterId = page.clusterId;
        for (const entry of page.entries) entries.push(entry);
        const last = page.entries.at(-1);
        key = page.more && last ? computeKeyAfter(this.#root + last.key) : undefined;
      }
    }
    return { entries, revision: revision ?? 0, clusterId };
  }

  /** One page, of fewer entries while so many cannot be read within the deadline of a call. */
  async #page(ask: RangeRequest, most = this.#pageSize): Promise<RangeResponse> {
    for (let halved = 0; ; halved++) {
      try {
        const page = await this.#range({ ...ask, limit: Math.min(most, this.#limit) });
        this.#limit = Math.min(this.#pageSize, this.#limit * 2);
        return page;
      } catch (thrown) {
        const isSlow = thrown instanceof StoreUnavailableFault && thrown.cause instanceof AnswerLostFault;
        if (!isSlow || this.#limit === 1) throw thrown;
        this.#limit = Math.ceil(this.#limit / 2);
        if (halved === HALVE_AT_MOST) throw thrown; // etcd may be away: the next read begins with the smaller page
      }
    }
  }

  async #range(ask: RangeRequest): Promise<RangeResponse> {
    try {
      const before = this.#seen;
      const answer = decodeRange(await this.#client.callRetrying('KV/Range', encodeRange(ask)), this.#root);
      // A linearizable read cannot be older than what was seen before it began, unless an older state was restored.
      if (answer.revision < before && this.#seen === before) this.#seen = answer.revision;
      else this.saw(answer.revision);
      return answer;
    } catch (thrown) {
      if (thrown instanceof OutOfRangeFault) throw new CompactedFault(ask.revision ?? 0, { cause: thrown });
      if (thrown instanceof RangeError) throw new StoreUnavailableFault('etcd cannot be understood', { cause: thrown });
      throw thrown;
    }
  }
}

/** The ranges below `prefix` that remain when those below other prefixes are left out, in key order. */
function listRangesBetween(root: string, prefix: string, leavesOut: readonly string[]): readonly KeyRange[] {
  const { key: first, end } = toRangeBelow(root + prefix);
  const remaining: KeyRange[] = [];
  let key = first;
  for (const out of leavesOut.filter(each => each.startsWith(prefix)).toSorted()) {
    const left = toRangeBelow(root + out);
    remaining.push({ key, end: Buffer.from(left.key) });
    key = left.end.toString('latin1');
  }
  return [...remaining, { key, end }];
}
