import type { Entry, Revision } from './entry.js';

/** A compare: what must hold before the change for the change to be applied. */
export type Guard =
  /** The key was last changed at exactly this revision; 0 means that it does not exist. */
  | { readonly key: string; readonly at: Revision }
  /** The key exists and was created at exactly this revision: the fence of a leader, the identity of a parent. */
  | { readonly key: string; readonly created: Revision }
  /** The key exists, whatever it says. */
  | { readonly key: string; readonly exists: true };

/** One document to write. A key on a lease disappears with it. */
export interface Put {
  readonly key: string;
  readonly bytes: Buffer;
  readonly lease?: string;
}

/**
 * Several writes that happen together or not at all.
 *
 * At least one guard must be one that the change itself makes false for ever: `at` on a key that it puts, or `at`
 * or `created` on a key that it deletes. That makes the change impossible to apply twice, which is what allows a
 * lost reply to be settled. A change without one is a `BrokenInvariantFault`.
 */
export interface Change {
  readonly guards: readonly Guard[];
  readonly puts: readonly Put[];
  readonly deletes: readonly string[];
  /**
   * The put whose bytes prove afterwards that this very change was made: unique, and not soon overwritten.
   * Left out, it is the first put. Where its bytes are not unique, a change of another writer with the same guards and the
   * same bytes may be taken for this one when an answer is lost.
   */
  readonly proof?: string;
}

/** Whether a change was applied. `stored: false` is proof that nothing of it was. */
export type Verdict = { readonly stored: true; readonly revision: Revision } | { readonly stored: false };

/** All entries below a prefix at one revision, in key order. */
export interface Listing {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
}

export interface PageOptions {
  /** The page begins after this key. Left out: with the first. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** The revision to read at, as the first page gave it. Left out: the present one. */
  readonly at?: Revision | undefined;
  /** Leaves the bytes of the entries empty. */
  readonly keysOnly?: boolean;
}

/** Some of the entries below a prefix at one revision. */
export interface ListingPage extends Listing {
  /** Whether entries follow. */
  readonly more: boolean;
}

/** A put or a delete of one key. `position` orders the events of one revision. */
export interface WatchEvent {
  readonly revision: Revision;
  readonly position: number;
  readonly key: string;
  /** The new entry, or undefined when the key was deleted. */
  readonly entry: Entry | undefined;
}

/** Receives the watch of everything below the root. All calls come in order. */
export interface WatchHandler {
  /** A complete state at `revision`. Comes first, and again whenever continuity could not be proven. */
  onReset(listing: Listing): void;
  /** All events of one revision, never split. */
  onEvents(events: readonly WatchEvent[]): void;
  /** Whether the watch stream is up, for health. */
  onConnected(up: boolean): void;
}

/** A time-limited claim. Keys put on it vanish when it ends. */
export interface Lease {
  readonly id: string;
  readonly ttlSeconds: number;
}

/**
 * A linearizable key-value store with guarded, all-or-nothing changes and a gapless feed.
 *
 * Keys are relative (`deployments/<tenant>/<name>`); the driver puts the configured root before them.
 * There is no unconditional write. Methods throw `StoreUnavailableFault` when it is certain that nothing was
 * stored, and `OutcomeUnknownFault` when that could not be found out in time.
 */
export interface Store {
  get(key: string): Promise<Entry | undefined>;
  /** Every entry below `prefix` (which ends in `/`, or is empty), read in pages at one revision. */
  list(prefix: string, at?: Revision): Promise<Listing>;
  /** The next entries below `prefix`, in key order: for what is too large to be listed at once, or is not cached. */
  page(prefix: string, options: PageOptions): Promise<ListingPage>;
  commit(change: Change): Promise<Verdict>;
  /** The current revision, by a linearizable read. */
  revision(): Promise<Revision>;
  /** Lists, then watches, everything; resumes or resets by itself until `signal` is aborted. */
  follow(handler: WatchHandler, options: FollowOptions, signal: AbortSignal): Promise<void>;
  grant(ttlSeconds: number): Promise<Lease>;
  /** Extends the lease to its full time. False when it has ended. */
  keepAlive(leaseId: string): Promise<boolean>;
  revoke(leaseId: string): Promise<void>;
  close(): Promise<void>;
}

/** How full the store is, and what it complains of. */
export interface StoreHealth {
  /** The size of the largest database file of a member. */
  readonly databaseBytes: number;
  /** How much of that is in use, history included: the rest is written to again before the file grows. */
  readonly usedBytes: number;
  /** Alarms that are raised, as etcd names them: `NOSPACE`, `CORRUPT`. */
  readonly alarms: readonly string[];
}

/** A member of the cluster that keeps the store, as it says itself. */
export interface StoreMember {
  /** Stays what it is for as long as the member exists. */
  readonly id: string;
  readonly name: string;
  /** Where it was reached; undefined when it was not, and nothing else is known. */
  readonly endpoint?: string;
  readonly isLeader: boolean;
  /** Whether it knows of a leader, and has carried out nearly all that it knows to be agreed on. */
  readonly isReady: boolean;
  /** The size of its database file, and how much of that is in use. */
  readonly databaseBytes: number;
  readonly usedBytes: number;
}

export interface FollowOptions {
  /** Begin this many revisions in the past, where the store still keeps them, so that watches of clients can resume across a restart. */
  readonly history?: number;
  /** Prefixes whose entries no listing names and no comparison checks; their events are delivered all the same. */
  readonly leavesOut?: readonly string[];
}
