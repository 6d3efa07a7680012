import { keys } from '../../../crds/keys/index.js';
import { backoffMs, type Clock, type Random, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import type { CompactionMark } from '../compaction.js';
import { value } from '../documents.js';
import { CompactedFault } from '../faults.js';
import type { Entry, Revision } from '../entry.js';
import type { FollowOptions, Listing, WatchEvent, WatchHandler } from '../store.js';
import type { EtcdClient } from './etcd-client.js';
import type { ClusterListing, EtcdReads } from './etcd-reads.js';
import { toRangeBelow } from './messages.js';
import { type WatchEnd, watchOnce } from './watch-stream.js';

export interface EtcdFollowOptions {
  readonly client: EtcdClient;
  readonly reads: EtcdReads;
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly livenessMs: number;
  /** How often a list is compared with what was delivered. */
  readonly compareEveryMs: number;
}

const BACKOFF = { firstMs: 50, capMs: 500 };
/** A stream that lasted this long was a good one: the next failure is a new one. */
const GOOD_STREAM_MS = 5_000;
/** How long events may be under way before a list is compared with them. */
const COMPARE_GRACE_MS = 2_000;

/** Lists, then watches; resumes after what was delivered, and lists again whenever in doubt. */
export class EtcdFollow {
  readonly #options: EtcdFollowOptions;
  readonly #handler: WatchHandler;
  readonly #mirror: DeliveredState;
  readonly #leavesOut: readonly string[];
  #clusterId = '';
  #mustList = true;
  #history: number;

  constructor(options: EtcdFollowOptions, handler: WatchHandler, { history = 0, leavesOut = [] }: FollowOptions) {
    this.#options = options;
    this.#leavesOut = leavesOut;
    this.#mirror = new DeliveredState(leavesOut);
    this.#handler = handler;
    this.#history = history;
  }

  /** Follows until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const began = clock.monotonic();
      try {
        if (this.#mustList || !(await this.#sameHistory())) await this.#list();
        const end = await this.#watch(signal);
        if (end === 'discontinued') this.#mustList = true;
        if (end !== 'stopped') log.warn('the watch ended', { because: end, revision: this.#mirror.delivered });
      } catch (thrown) {
        if (!signal.aborted) log.warn('the store cannot be listed, retrying: check etcd', { error: asError(thrown) });
      }
      if (clock.monotonic() - began > GOOD_STREAM_MS) failures = 0;
      await sleep(clock, backoffMs(++failures, BACKOFF, random), signal);
    }
  }

  /**
   * Whether the store still has what was delivered. One that was restored or wiped and filled again may have a higher revision,
   * and the same cluster id when its members kept their addresses and their token: so it is also asked for what we know.
   */
  async #sameHistory(): Promise<boolean> {
    const { recent, delivered } = this.#mirror;
    const { reads } = this.#options;
    try {
      if ((await reads.clusterId()) !== this.#clusterId) return false;
      const isConfirmed = async ([key, { entry, deleted }]: readonly [string, LastDelivery]) =>
        isSameEntry(entry, await reads.entry(key, delivered)) && (!deleted || this.#hadBefore(key, deleted));
      return (await Promise.all([...recent].map(isConfirmed))).every(Boolean);
    } catch (thrown) {
      if (thrown instanceof CompactedFault) return false; // also when the store has not come so far
      throw thrown;
    }
  }

  /** That a key is absent proves little: before its deletion it must have been there. What was compacted speaks for neither. */
  async #hadBefore(key: string, { at, removed }: Deletion): Promise<boolean> {
    try {
      const before = await this.#options.reads.entry(key, at - 1);
      return before !== undefined && (removed === undefined || before.revision === removed);
    } catch (thrown) {
      if (thrown instanceof CompactedFault) return true;
      throw thrown;
    }
  }

  async #list(): Promise<void> {
    const listing = await this.#first();
    this.#history = 0; // a later list is of the present
    this.#clusterId = listing.clusterId;
    this.#mirror.reset(listing);
    this.#handler.onReset(listing);
    this.#mustList = false;
  }

  async #first(): Promise<ClusterListing> {
    const { reads } = this.#options;
    const leavesOut = this.#leavesOut;
    if (this.#history === 0) return reads.list('', { leavesOut });
    const at = Math.max(1, (await reads.revision()) - this.#history);
    const past = (await this.#listAt(at)) ?? (await this.#listAt(Math.max(at, await this.#oldestKept())));
    return past ?? reads.list('', { leavesOut });
  }

  /** Undefined when the revision was compacted. */
  async #listAt(at: Revision): Promise<ClusterListing | undefined> {
    try {
      return await this.#options.reads.list('', { at, leavesOut: this.#leavesOut });
    } catch (thrown) {
      if (thrown instanceof CompactedFault) return undefined;
      throw thrown;
    }
  }

  async #oldestKept(): Promise<Revision> {
    const mark = await this.#options.reads.entry(keys.compaction());
    return mark ? value<CompactionMark>(mark).compacted : 1;
  }

  async #watch(signal: AbortSignal): Promise<WatchEnd> {
    const { root, livenessMs } = this.#options;
    const stop = new AbortController();
    const ended = () => stop.abort();
    signal.addEventListener('abort', ended, { once: true });
    if (signal.aborted) ended();
    const comparing = this.#compareNowAndThen(stop);
    try {
      return await watchOnce(
        this.#options,
        {
          range: toRangeBelow(root),
          stem: root,
          from: this.#mirror.delivered + 1,
          clusterId: this.#clusterId,
          currentRevision: () => this.#options.reads.revision(),
          livenessMs,
        },
        {
          onCreated: () => this.#handler.onConnected(true),
          onEvents: events => {
            this.#mirror.apply(events);
            this.#handler.onEvents(events);
          },
        },
        stop.signal,
      );
    } finally {
      signal.removeEventListener('abort', ended);
      stop.abort();
      this.#handler.onConnected(false);
      await comparing;
    }
  }

  /** The safety net: should an event be lost by a defect we do not know, a comparison with a list finds it, and the state is listed again. */
  async #compareNowAndThen(watch: AbortController): Promise<void> {
    const { clock, reads, log, compareEveryMs } = this.#options;
    for (;;) {
      await sleep(clock, compareEveryMs, watch.signal);
      if (watch.signal.aborted) return;
      try {
        this.#mirror.beginComparison();
        const listing = await reads.list('', { keysOnly: true, leavesOut: this.#leavesOut });
        await sleep(clock, COMPARE_GRACE_MS, watch.signal);
        if (watch.signal.aborted) return;
        if (this.#mirror.agreesWith(listing)) continue;
        log.error('the watch lost events; everything is listed again', { revision: listing.revision });
        this.#mustList = true;
        watch.abort();
      } catch (thrown) {
        log.debug('the safety net could not be drawn', { error: asError(thrown) });
      }
    }
  }
}

/** Keys whose state the store must still confirm when a watch resumes: one alone may be the same in another history too. */
const RECENT = 5;

interface Deletion {
  readonly at: Revision;
  /** The revision of what was deleted; undefined for keys that are not remembered. */
  readonly removed: Revision | undefined;
}

/** What was delivered last of a key: its entry, or that it was deleted. */
interface LastDelivery {
  readonly entry?: Entry;
  readonly deleted?: Deletion;
}

/** What was delivered to a follower: enough to notice a wrong delivery. */
export class DeliveredState {
  readonly #leavesOut: readonly string[];
  readonly #revisions = new Map<string, Revision>();
  #delivered: Revision = 0;
  readonly #recent = new Map<string, LastDelivery>();
  #touched: Set<string> | undefined;

  /** `leavesOut` are prefixes of keys that are not remembered, but for those that changed last. */
  constructor(leavesOut: readonly string[] = []) {
    this.#leavesOut = leavesOut;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#revisions.size;
  }

  /** The last revision that was delivered in full. */
  get delivered(): Revision {
    return this.#delivered;
  }

  /** The keys that changed last. */
  get recent(): ReadonlyMap<string, LastDelivery> {
    return this.#recent;
  }

  reset({ entries, revision }: Listing): void {
    this.#revisions.clear();
    this.#recent.clear();
    for (const entry of entries.toSorted((a, b) => a.revision - b.revision).slice(-RECENT)) {
      this.#recent.set(entry.key, { entry });
    }
    for (const { key, revision: at } of entries) this.#revisions.set(key, at);
    this.#delivered = revision;
  }

  apply(events: readonly WatchEvent[]): void {
    for (const { key, entry, revision } of events) {
      this.#delivered = revision;
      this.#remember(key, entry ? { entry } : { deleted: { at: revision, removed: this.#revisions.get(key) } });
      if (this.#leavesOut.some(prefix => key.startsWith(prefix))) continue;
      this.#touched?.add(key);
      if (entry) this.#revisions.set(key, entry.revision);
      else this.#revisions.delete(key);
    }
  }

  /** From now on remembers what changes, so that a list taken meanwhile can be compared. */
  beginComparison(): void {
    this.#touched = new Set();
  }

  /** Whether a list that was asked for after `beginComparison` says the same, leaving aside what has changed since. */
  agreesWith({ entries }: Listing): boolean {
    const touched = this.#touched ?? new Set<string>();
    this.#touched = undefined;
    let untouched = 0;
    for (const { key, revision } of entries) {
      if (touched.has(key)) continue;
      untouched++;
      if (this.#revisions.get(key) !== revision) return false;
    }
    let known = 0;
    for (const key of this.#revisions.keys()) if (!touched.has(key)) known++;
    return known === untouched;
  }

  #remember(key: string, delivery: LastDelivery): void {
    this.#recent.delete(key); // it moves to the end
    this.#recent.set(key, delivery);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > RECENT && oldest !== undefined) this.#recent.delete(oldest);
  }
}

function isSameEntry(known: Entry | undefined, found: Entry | undefined): boolean {
  if (!known || !found) return known === found;
  return found.revision === known.revision && found.created === known.created && found.bytes.equals(known.bytes);
}
