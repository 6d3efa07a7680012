import { isWellFormedKey, keys } from '../../crds/keys/index.js';
import { type Clock, sleep } from '../clock/index.js';
import { asError, BrokenInvariantFault } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { encode } from './documents.js';
import { EntryIndex, KeyTree } from './entries.js';
import { ReadBarrier } from './read-barrier.js';
import type { Entry, Revision } from './entry.js';
import type { FollowOptions, Listing, Store, WatchEvent, WatchHandler } from './store.js';

/** Written only to make the watch deliver something when nothing else does. */
const BARRIER = keys.barrier();

/** Between two attempts to show that nothing was missed. */
const PROVE_AGAIN_MS = 250;

export interface WatchCacheOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long `barrier` and `reached` wait before they give up. */
  readonly deadlineMs?: number;
  /** When questions that have gathered are put to the store. `setImmediate` gathers those of a turn of the event loop. */
  readonly defer?: (ask: () => void) => void;
  /** Prefixes of keys that are not cached: read those from the store. */
  readonly leavesOut?: readonly string[];
  /** Prefixes of keys that are not cached either, but whose changes subscribers get, without what was before. */
  readonly passesOn?: readonly string[];
}

/** The cache over any store. `run` feeds it until its signal is aborted. */
export class WatchCache implements Cache {
  readonly ready: Promise<void>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #leavesOut: readonly string[];
  readonly #passesOn: readonly string[];
  readonly #barrier: ReadBarrier;
  readonly #tree = new KeyTree();
  readonly #indexes = new Map<string, EntryIndex>();
  readonly #listeners = new Set<(change: CacheChange) => void>();
  readonly #revisionListeners = new Set<(revision: Revision) => void>();
  readonly #resetListeners = new Set<(revision: Revision) => void>();
  /** Keys that were left out because they are malformed: each is logged once. */
  readonly #malformed = new Set<string>();
  #becameReady!: () => void;
  #revision: Revision = 0;
  #connected = false;
  /** Aborted when the connection it belongs to is lost. */
  #link = new AbortController();

  constructor(options: WatchCacheOptions) {
    const { store, clock, log, deadlineMs = 5_000, defer = queueMicrotask, leavesOut = [], passesOn = [] } = options;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#leavesOut = leavesOut;
    this.#passesOn = passesOn;
    this.#barrier = new ReadBarrier({
      clock,
      ask: () => store.revision(),
      forceProgress: () => void this.#forceProgress(),
      deadlineMs,
      defer,
    });
    this.ready = new Promise(resolve => {
      this.#becameReady = resolve;
    });
  }

  /** Feeds the cache until `signal` is aborted. */
  run(signal: AbortSignal, options: FollowOptions = {}): Promise<void> {
    const feed: WatchHandler = {
      onReset: listing => this.#reset(listing),
      onEvents: events => this.#applyEvents(events),
      onConnected: up => void this.#linked(up),
    };
    const leavesOut = [...this.#leavesOut, ...this.#passesOn];
    return this.#store.follow(feed, { ...options, leavesOut }, signal);
  }

  get revision(): Revision {
    return this.#revision;
  }

  get connected(): boolean {
    return this.#connected;
  }

  get(key: string): Entry | undefined {
    return this.#tree.get(key);
  }

  list(prefix: string): readonly Entry[] {
    return this.#tree.list(prefix);
  }

  snapshot(prefix: string): Listing {
    return { entries: this.#tree.list(prefix), revision: this.#revision };
  }

  by(index: string, label: string): readonly Entry[] {
    const found = this.#indexes.get(index);
    if (!found) throw new BrokenInvariantFault(`there is no index "${index}"`);
    return found.look(label);
  }

  defineIndex(name: string, prefix: string, derive: (entry: Entry) => readonly string[]): void {
    if (this.#indexes.has(name)) throw new BrokenInvariantFault(`the index "${name}" is defined twice`);
    const index = new EntryIndex(prefix, entry => this.#derived(derive, entry));
    for (const entry of this.#tree.list('')) index.set(entry.key, undefined, entry);
    this.#indexes.set(name, index);
  }

  barrier(): Promise<void> {
    return this.#barrier.barrier();
  }

  reached(revision: Revision): Promise<void> {
    return this.#barrier.reached(revision);
  }

  subscribe(listener: (change: CacheChange) => void): () => void {
    return enlist(this.#listeners, listener);
  }

  onRevision(listener: (revision: Revision) => void): () => void {
    return enlist(this.#revisionListeners, listener);
  }

  onReset(listener: (revision: Revision) => void): () => void {
    return enlist(this.#resetListeners, listener);
  }

  /** A watch is taken up before what was missed has been delivered: only a barrier shows that nothing is missing. */
  async #linked(up: boolean): Promise<void> {
    this.#link.abort();
    this.#connected = false;
    if (!up) return;
    const link = new AbortController();
    this.#link = link;
    while (!link.signal.aborted) {
      try {
        await this.barrier();
        if (!link.signal.aborted) this.#connected = true;
        return;
      } catch (thrown) {
        this.#log.warn('could not verify that the watch cache is up to date, retrying', { error: asError(thrown) });
        await sleep(this.#clock, PROVE_AGAIN_MS, link.signal);
      }
    }
  }

  #reset({ entries: listed, revision }: Listing): void {
    const entries = listed.filter(({ key }) => !startsWithAny(key, this.#passesOn) && this.#isForReaders(key));
    const present = new Set(entries.map(({ key }) => key));
    const differences: WatchEvent[] = [];
    const differs = (key: string, entry: Entry | undefined) =>
      differences.push({ revision, position: differences.length, key, entry });
    for (const key of this.#tree.keys()) if (!present.has(key)) differs(key, undefined);
    for (const entry of entries) if (!isSame(this.#tree.get(entry.key), entry)) differs(entry.key, entry);

    this.#notify(this.#resetListeners, revision);
    this.#show(revision, differences);
    this.#becameReady();
  }

  #applyEvents(events: readonly WatchEvent[]): void {
    const revision = events[0]?.revision;
    if (revision === undefined || revision <= this.#revision) return; // a replay: it must not undo what came after
    this.#show(
      revision,
      events.filter(({ key }) => this.#isForReaders(key)),
    );
  }

  /** Readers take keys apart and build others from the parts: one malformed key in a range would fail all that list it. */
  #isForReaders(key: string): boolean {
    if (startsWithAny(key, this.#leavesOut)) return false;
    if (isWellFormedKey(key)) return true;
    if (!this.#malformed.has(key)) {
      this.#log.error('a malformed key is left out: it was not written by Mooring, remove it from etcd', { key });
    }
    this.#malformed.add(key);
    return false;
  }

  /** Applies all, then notifies all: a listener never sees half of a revision. */
  #show(revision: Revision, events: readonly WatchEvent[]): void {
    const changes = events.map(event => this.#set(event));
    this.#revision = revision;
    for (const change of changes) this.#notify(this.#listeners, change);
    this.#notify(this.#revisionListeners, revision);
    this.#barrier.observed(revision);
  }

  #set({ revision, position, key, entry }: WatchEvent): CacheChange {
    if (startsWithAny(key, this.#passesOn)) return { revision, position, key, entry, previous: undefined };
    const previous = this.#tree.set(key, entry);
    for (const index of this.#indexes.values()) index.set(key, previous, entry);
    return { revision, position, key, entry, previous };
  }

  async #forceProgress(): Promise<void> {
    try {
      const seen = await this.#store.get(BARRIER);
      await this.#store.commit({
        guards: [{ key: BARRIER, at: seen?.revision ?? 0 }],
        puts: [{ key: BARRIER, bytes: encode({}) }],
        deletes: [],
      });
    } catch (thrown) {
      this.#log.debug('the barrier could not be written', { error: asError(thrown) });
    }
  }

  /** One listener's failure must not keep the others, or the cache itself, from seeing a change. */
  #notify<News>(listeners: ReadonlySet<(news: News) => void>, news: News): void {
    for (const listener of listeners) {
      try {
        listener(news);
      } catch (thrown) {
        this.#log.error('a listener of the watch cache failed', { error: asError(thrown) });
      }
    }
  }

  #derived(derive: (entry: Entry) => readonly string[], entry: Entry): readonly string[] {
    try {
      return derive(entry);
    } catch (thrown) {
      this.#log.error('an index of the watch cache failed', { error: asError(thrown) });
      return [];
    }
  }
}

function startsWithAny(key: string, prefixes: readonly string[]): boolean {
  for (const prefix of prefixes) if (key.startsWith(prefix)) return true;
  return false;
}

function enlist<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function isSame(known: Entry | undefined, entry: Entry): boolean {
  return known?.revision === entry.revision && known.created === entry.created && known.bytes.equals(entry.bytes);
}

/** What a subscriber receives: an event, with the entry that was stored before. */
export interface CacheChange extends WatchEvent {
  /** Undefined also for what the cache only passes on. */
  readonly previous: Entry | undefined;
}

/**
 * Everything in the store, in memory, fed by the one root watch of the process.
 *
 * Entries are immutable and shared. `value` parses an entry's bytes once and remembers the result, so that
 * entries that are never read are never parsed.
 */
export interface Cache {
  get(key: string): Entry | undefined;
  /** All entries below a prefix that ends in `/`, in key order. */
  list(prefix: string): readonly Entry[];
  /** The same list with the revision it shows. While nothing below `prefix` changes, `entries` stays the same array. */
  snapshot(prefix: string): Listing;
  /** The entries that `derive` filed under `value` in the named index, in key order. */
  by(index: string, value: string): readonly Entry[];
  /** Files every entry below `prefix` under each string that `derive` gives for it. Declared once, before the feed starts. */
  defineIndex(name: string, prefix: string, derive: (entry: Entry) => readonly string[]): void;
  /** The revision that the cache shows. */
  readonly revision: Revision;
  /** Resolves when the cache shows everything that was stored before this call: then a read is linearizable. */
  barrier(): Promise<void>;
  /** Resolves when the cache shows `revision`: read your own write. */
  reached(revision: Revision): Promise<void>;
  /**
   * Called for every change, in order, after the cache shows it. A reset arrives as the changes it amounts to, all
   * at the revision of the reset.
   */
  subscribe(listener: (change: CacheChange) => void): () => void;
  /** Called after all changes of one revision have been delivered. */
  onRevision(listener: (revision: Revision) => void): () => void;
  /**
   * Called before the changes of a reset are sent, the first one included: what happened before was not followed, so
   * who keeps a history starts it again.
   */
  onReset(listener: (revision: Revision) => void): () => void;
  /** Resolves after the first complete state. */
  readonly ready: Promise<void>;
  /** Whether the cache receives watch events, and has everything that happened before it could. */
  readonly connected: boolean;
}
