import type { Entry, Happening, Listing, Revision } from '../store.js';

/** Something that was delivered and that the store must still confirm. */
export interface Anchor {
  readonly key: string;
  readonly revision: Revision;
}

/** What a follower has been told: enough to notice that it was told wrong. */
export class Mirror {
  readonly #revisions = new Map<string, Revision>();
  #delivered: Revision = 0;
  #anchor: Anchor | undefined;
  #touched: Set<string> | undefined;

  /** The last revision that was delivered in full. */
  get delivered(): Revision {
    return this.#delivered;
  }

  /** The newest entry that was delivered. */
  get anchor(): Anchor | undefined {
    return this.#anchor;
  }

  reset({ entries, revision }: Listing): void {
    this.#revisions.clear();
    this.#anchor = undefined;
    for (const entry of entries) this.#put(entry);
    this.#delivered = revision;
  }

  happened(happenings: readonly Happening[]): void {
    for (const { key, entry, revision } of happenings) {
      this.#touched?.add(key);
      if (entry) this.#put(entry);
      else this.#revisions.delete(key);
      this.#delivered = revision;
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

  #put(entry: Entry): void {
    const { key, revision } = entry;
    this.#revisions.set(key, revision);
    if (!this.#anchor || revision >= this.#anchor.revision) this.#anchor = entry;
  }
}
