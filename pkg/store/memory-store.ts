import type { Cancel, Clock } from '../clock/index.js';
import { checkChange, isGuardMet } from './change.js';
import { CompactedFault, LeaseGoneFault } from './faults.js';
import { type LoggedChange, RevisionLog, toWatchEvents } from './revision-log.js';
import { Entry, type Revision } from './entry.js';
import type {
  Change,
  FollowOptions,
  Lease,
  Listing,
  ListingPage,
  PageOptions,
  Store,
  Verdict,
  WatchEvent,
  WatchHandler,
} from './store.js';

export interface MemoryStoreOptions {
  /** Leases end by it. */
  readonly clock: Clock;
  /** How many revisions can be looked back at. */
  readonly keepRevisions?: number;
  /** When followers are notified: in a later microtask, unless a simulation wants them to lag. */
  readonly defer?: (notify: () => void) => void;
}

interface HeldLease {
  readonly ttlSeconds: number;
  readonly keys: Set<string>;
  end: Cancel;
}

/** A backup of a store: what was stored, and on which leases. */
export interface MemorySnapshot {
  readonly revision: Revision;
  readonly entries: ReadonlyMap<string, Entry>;
  /** Ids of leases by key, and the time to live of each. */
  readonly leaseOf: ReadonlyMap<string, string>;
  readonly leases: ReadonlyMap<string, number>;
}

/**
 * A store in this process's memory: the same promises as etcd's, except that nothing survives.
 *
 * It is the server, not a connection: the processes of a simulation share one. It uses no timer but the
 * clock's, so the same calls in the same order give the same answers.
 */
export class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #defer: (notify: () => void) => void;
  readonly #keepRevisions: number;
  #log: RevisionLog;
  readonly #entries = new Map<string, Entry>();
  readonly #leases = new Map<string, HeldLease>();
  readonly #leaseOf = new Map<string, string>();
  readonly #followers = new Set<MemoryFollower>();
  #revision: Revision = 1;
  #lastLease = 0;

  constructor({ clock, keepRevisions = 10_000, defer = queueMicrotask }: MemoryStoreOptions) {
    this.#clock = clock;
    this.#defer = defer;
    this.#keepRevisions = keepRevisions;
    this.#log = new RevisionLog(keepRevisions);
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#entries.get(key);
  }

  async list(prefix: string, at?: Revision): Promise<Listing> {
    return this.#listing(prefix, at ?? this.#revision);
  }

  async page(prefix: string, { after = '', limit, at, keysOnly = false }: PageOptions): Promise<ListingPage> {
    const { entries, revision } = this.#listing(prefix, at ?? this.#revision);
    const rest = entries.filter(({ key }) => key > after);
    const shown = rest.slice(0, limit).map(entry => (keysOnly ? entry.withBytes(Buffer.alloc(0)) : entry));
    return { entries: shown, revision, more: rest.length > limit };
  }

  async revision(): Promise<Revision> {
    return this.#revision;
  }

  async commit(change: Change): Promise<Verdict> {
    checkChange(change);
    if (!change.guards.every(guard => isGuardMet(guard, this.#entries.get(guard.key)))) return { stored: false };
    if (change.puts.some(({ lease }) => lease !== undefined && !this.#leases.has(lease))) throw new LeaseGoneFault();

    const revision = this.#revision + 1;
    const changes: LoggedChange[] = [];
    for (const { key, bytes, lease } of change.puts) {
      const previous = this.#entries.get(key);
      changes.push({ key, previous, entry: new Entry(key, bytes, revision, previous?.created) });
      this.#attach(key, lease);
    }
    for (const key of change.deletes) {
      const previous = this.#entries.get(key);
      if (previous) changes.push({ key, previous, entry: undefined });
    }
    this.#apply(changes);
    return { stored: true, revision: this.#revision };
  }

  follow(handler: WatchHandler, { history = 0, leavesOut = [] }: FollowOptions, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    const start = Math.max(this.#revision - history, this.#log.oldest);
    const follower = new MemoryFollower(handler, this.#defer);
    const { entries, revision } = this.#listing('', start);
    follower.reset({ entries: entries.filter(({ key }) => !leavesOut.some(out => key.startsWith(out))), revision });
    for (const events of this.#log.after(start)) follower.notifyEvents(events);
    this.#followers.add(follower);
    return new Promise(resolve => {
      signal.addEventListener('abort', () => resolve(this.#unfollow(follower)), { once: true });
    });
  }

  async grant(ttlSeconds: number): Promise<Lease> {
    const id = String(++this.#lastLease);
    this.#leases.set(id, { ttlSeconds, keys: new Set(), end: this.#endLater(id, ttlSeconds) });
    return { id, ttlSeconds };
  }

  async keepAlive(leaseId: string): Promise<boolean> {
    const lease = this.#leases.get(leaseId);
    if (!lease) return false;
    lease.end();
    lease.end = this.#endLater(leaseId, lease.ttlSeconds);
    return true;
  }

  async revoke(leaseId: string): Promise<void> {
    const lease = this.#leases.get(leaseId);
    if (!lease) return;
    lease.end();
    this.#leases.delete(leaseId);
    const changes = [...lease.keys].toSorted().map(key => ({
      key,
      previous: this.#entries.get(key),
      entry: undefined,
    }));
    this.#apply(changes);
  }

  /** Forgets how the state at `revision` came about: older states can no longer be listed. */
  compact(revision: Revision): void {
    this.#log.compact(Math.min(revision, this.#revision));
  }

  /** A backup of the present state. */
  save(): MemorySnapshot {
    const leases = [...this.#leases].map(([id, { ttlSeconds }]) => [id, ttlSeconds] as const);
    return {
      revision: this.#revision,
      entries: new Map(this.#entries),
      leaseOf: new Map(this.#leaseOf),
      leases: new Map(leases),
    };
  }

  /** Puts a backup in the place of everything: the revision goes back, leases start over, and followers begin with a new list. */
  restore({ revision, entries, leaseOf, leases }: MemorySnapshot): void {
    for (const { end } of this.#leases.values()) end();
    for (const held of [this.#leases, this.#leaseOf, this.#entries]) held.clear();
    for (const [id, ttlSeconds] of leases) {
      this.#leases.set(id, { ttlSeconds, keys: new Set(), end: this.#endLater(id, ttlSeconds) });
    }
    for (const [key, entry] of entries) this.#entries.set(key, entry);
    for (const [key, lease] of leaseOf) this.#attach(key, lease);
    this.#revision = revision;
    this.#log = new RevisionLog(this.#keepRevisions);
    this.#log.compact(revision);
    for (const follower of this.#followers) follower.reset(this.#listing('', revision));
  }

  /** Does nothing: the others who share this store go on using it. */
  async close(): Promise<void> {}

  #unfollow(follower: MemoryFollower): void {
    this.#followers.delete(follower);
    follower.stop();
  }

  #listing(prefix: string, revision: Revision): Listing {
    if (revision > this.#revision) throw new CompactedFault(revision);
    const state = revision === this.#revision ? this.#entries : this.#log.rewind(this.#entries, revision);
    const entries = [...state.values()].filter(({ key }) => key.startsWith(prefix));
    entries.sort((a, b) => (a.key < b.key ? -1 : 1));
    return { entries, revision };
  }

  #apply(changes: readonly LoggedChange[]): void {
    if (changes.length === 0) return;
    this.#revision++;
    for (const { key, entry } of changes) {
      if (entry) this.#entries.set(key, entry);
      else this.#drop(key);
    }
    this.#log.append(this.#revision, changes);
    const events = toWatchEvents(this.#revision, changes);
    for (const follower of this.#followers) follower.notifyEvents(events);
  }

  #drop(key: string): void {
    this.#entries.delete(key);
    this.#attach(key, undefined);
  }

  /** A put without a lease takes the key off the one it was on. */
  #attach(key: string, lease: string | undefined): void {
    const before = this.#leaseOf.get(key);
    if (before !== undefined) this.#leases.get(before)?.keys.delete(key);
    if (lease === undefined) {
      this.#leaseOf.delete(key);
      return;
    }
    this.#leaseOf.set(key, lease);
    this.#leases.get(lease)?.keys.add(key);
  }

  #endLater(id: string, ttlSeconds: number): Cancel {
    return this.#clock.after(ttlSeconds * 1000, () => void this.revoke(id));
  }
}

/** Notifies one handler, in order and never from inside the write that caused it. */
export class MemoryFollower {
  readonly #handler: WatchHandler;
  readonly #defer: (notify: () => void) => void;
  #pending: ((handler: WatchHandler) => void)[] = [];
  #stopped = false;

  constructor(handler: WatchHandler, defer: (notify: () => void) => void) {
    this.#handler = handler;
    this.#defer = defer;
  }

  reset(listing: Listing): void {
    this.#notify(handler => {
      handler.onReset(listing);
      handler.onConnected(true);
    });
  }

  notifyEvents(events: readonly WatchEvent[]): void {
    this.#notify(handler => handler.onEvents(events));
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#pending = [];
    this.#handler.onConnected(false);
  }

  #notify(what: (handler: WatchHandler) => void): void {
    this.#pending.push(what);
    this.#defer(() => {
      if (!this.#stopped) this.#pending.shift()?.(this.#handler);
    });
  }
}
