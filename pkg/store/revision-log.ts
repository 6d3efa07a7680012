import { CompactedFault } from './faults.js';
import type { Entry, Revision } from './entry.js';
import type { WatchEvent } from './store.js';

/** What happened to one key, with what it undoes. */
export interface LoggedChange {
  readonly key: string;
  readonly entry: Entry | undefined;
  readonly previous: Entry | undefined;
}

interface LoggedRevision {
  readonly revision: Revision;
  readonly changes: readonly LoggedChange[];
}

/** The most recent revisions of a store in memory, to read the past and to replay it. */
export class RevisionLog {
  readonly #keep: number;
  #kept: LoggedRevision[] = [];
  /** States before this revision are compacted. */
  #oldest: Revision = 1;

  constructor(keep: number) {
    this.#keep = keep;
  }

  /** The oldest revision whose state can still be read. */
  get oldest(): Revision {
    return this.#oldest;
  }

  append(revision: Revision, changes: readonly LoggedChange[]): void {
    this.#kept.push({ revision, changes });
    if (this.#kept.length >= 2 * this.#keep) this.compact(revision - this.#keep);
  }

  /** Forgets how the state at `revision` came about. */
  compact(revision: Revision): void {
    if (revision <= this.#oldest) return;
    this.#oldest = revision;
    this.#kept = this.#kept.filter(logged => logged.revision > revision);
  }

  /** Undoes, in a copy of the present state, everything after `revision`. */
  rewind(present: ReadonlyMap<string, Entry>, revision: Revision): Map<string, Entry> {
    if (revision < this.#oldest) throw new CompactedFault(revision);
    const state = new Map(present);
    for (const logged of this.#kept.toReversed()) {
      if (logged.revision <= revision) break;
      for (const { key, previous } of logged.changes.toReversed()) {
        if (previous) state.set(key, previous);
        else state.delete(key);
      }
    }
    return state;
  }

  /** Everything that happened after `revision`, one list for each revision. */
  after(revision: Revision): WatchEvent[][] {
    return this.#kept
      .filter(logged => logged.revision > revision)
      .map(logged => toWatchEvents(logged.revision, logged.changes));
  }
}

/** The changes of one revision, as they are delivered. */
export function toWatchEvents(revision: Revision, changes: readonly LoggedChange[]): WatchEvent[] {
  return changes.map(({ key, entry }, position) => ({ revision, position, key, entry }));
}
