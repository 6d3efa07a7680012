import type { Entry, Happening, Listing, Revision } from './store.js';

/** What is told to a subscriber: a happening, with the entry that stood there before. */
export interface CacheChange extends Happening {
  readonly previous: Entry | undefined;
}

/**
 * Everything in the store, in memory, fed by the one root watch of the process.
 *
 * Entries are immutable and shared. `value` parses an entry's bytes once and remembers the result, so that
 * what nobody reads is never parsed.
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
  /** Called after all changes of one revision have been told. */
  onRevision(listener: (revision: Revision) => void): () => void;
  /**
   * Called before the changes of a reset are told, the first one included: what happened before was not followed, so
   * who keeps a history begins it anew.
   */
  onReset(listener: (revision: Revision) => void): () => void;
  /** Resolves after the first complete state. */
  readonly ready: Promise<void>;
  /** Whether the cache hears what happens, and has heard everything that happened before it could. */
  readonly connected: boolean;
}
