import { type Clock, type Random, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import { CompactedFault } from '../faults.js';
import type { Feed, FollowOptions } from '../store.js';
import type { ClusterListing, EtcdReads } from './etcd-reads.js';
import { rangeBelow } from './key-range.js';
import { Mirror } from './mirror.js';
import { type WatchEnd, watchOnce } from './watch-stream.js';
import type { Wire } from './wire.js';

export interface EtcdFollowOptions {
  readonly wire: Wire;
  readonly reads: EtcdReads;
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly livenessMs: number;
  /** How often a list is compared with what was delivered. */
  readonly compareEveryMs: number;
}

const BACKOFF_FROM_MS = 50;
const BACKOFF_TO_MS = 2_000;
/** A stream that lasted this long was a good one: the next failure is a new one. */
const GOOD_STREAM_MS = 5_000;
/** How long events may be under way before a list is compared with them. */
const COMPARE_GRACE_MS = 2_000;

/** Lists, then watches; resumes after what was delivered, and lists again whenever in doubt. */
export class EtcdFollow {
  readonly #options: EtcdFollowOptions;
  readonly #feed: Feed;
  readonly #mirror = new Mirror();
  #clusterId = '';
  #mustList = true;
  #history: number;

  constructor(options: EtcdFollowOptions, feed: Feed, { history = 0 }: FollowOptions) {
    this.#options = options;
    this.#feed = feed;
    this.#history = history;
  }

  /** Follows until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    let wait = BACKOFF_FROM_MS;
    while (!signal.aborted) {
      const began = clock.monotonic();
      try {
        if (this.#mustList || !(await this.#sameHistory())) await this.#list();
        const end = await this.#watch(signal);
        if (end === 'discontinued') this.#mustList = true;
        if (end !== 'stopped') log.warn('the watch ended', { because: end, revision: this.#mirror.delivered });
      } catch (thrown) {
        if (!signal.aborted) log.warn('the store cannot be listed', { error: asError(thrown) });
      }
      if (clock.monotonic() - began > GOOD_STREAM_MS) wait = BACKOFF_FROM_MS;
      await sleep(clock, wait * (0.5 + random.next()), signal);
      wait = Math.min(wait * 2, BACKOFF_TO_MS);
    }
  }

  /** A store that was wiped and filled again may have the same cluster id and a higher revision: ask it for what we know. */
  async #sameHistory(): Promise<boolean> {
    const { anchor } = this.#mirror;
    if (!anchor) return true;
    try {
      const entry = await this.#options.reads.entry(anchor.key, anchor.revision);
      return entry?.revision === anchor.revision;
    } catch (thrown) {
      if (thrown instanceof CompactedFault) return false;
      throw thrown;
    }
  }

  async #list(): Promise<void> {
    const listing = await this.#first();
    this.#history = 0; // a later list is of the present
    this.#clusterId = listing.clusterId;
    this.#mirror.reset(listing);
    this.#feed.reset(listing);
    this.#mustList = false;
  }

  async #first(): Promise<ClusterListing> {
    const { reads } = this.#options;
    if (this.#history === 0) return reads.list('');
    const at = Math.max(1, (await reads.revision()) - this.#history);
    try {
      return await reads.list('', { at });
    } catch (thrown) {
      if (thrown instanceof CompactedFault) return reads.list('');
      throw thrown;
    }
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
          range: rangeBelow(root),
          stem: root,
          from: this.#mirror.delivered + 1,
          clusterId: this.#clusterId,
          livenessMs,
        },
        {
          created: () => this.#feed.connected(true),
          happened: happenings => {
            this.#mirror.happened(happenings);
            this.#feed.happened(happenings);
          },
        },
        stop.signal,
      );
    } finally {
      signal.removeEventListener('abort', ended);
      stop.abort();
      this.#feed.connected(false);
      await comparing;
    }
  }

  /** The safety net: should an event be lost in a way that nobody thought of, the watch is ended and listed anew. */
  async #compareNowAndThen(watch: AbortController): Promise<void> {
    const { clock, reads, log, compareEveryMs } = this.#options;
    for (;;) {
      await sleep(clock, compareEveryMs, watch.signal);
      if (watch.signal.aborted) return;
      try {
        this.#mirror.beginComparison();
        const listing = await reads.list('', { keysOnly: true });
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
