import { EntryList } from './entry-list.js';
import type { Entry } from './store.js';

const NOTHING: readonly Entry[] = Object.freeze([]);

interface File {
  readonly entries: Map<string, Entry>;
  readonly list: EntryList;
}

/** Entries filed under every string that is derived from them. */
export class EntryIndex {
  readonly #prefix: string;
  readonly #derive: (entry: Entry) => readonly string[];
  /** Most labels, such as ids, have one entry: that needs no file. */
  readonly #filed = new Map<string, Entry | File>();

  constructor(prefix: string, derive: (entry: Entry) => readonly string[]) {
    this.#prefix = prefix;
    this.#derive = derive;
  }

  set(key: string, previous: Entry | undefined, entry: Entry | undefined): void {
    if (!key.startsWith(this.#prefix)) return;
    const before = previous ? this.#derive(previous) : NO_LABELS;
    const now = entry ? this.#derive(entry) : NO_LABELS;
    for (const label of before) if (!now.includes(label)) this.#remove(label, key);
    if (entry) for (const label of now) this.#add(label, entry);
  }

  /** In key order. Of several, the same array until something there changes. */
  look(label: string): readonly Entry[] {
    const found = this.#filed.get(label);
    if (!found) return NOTHING;
    return isFile(found) ? found.list.look() : [found];
  }

  #add(label: string, entry: Entry): void {
    const found = this.#filed.get(label);
    if (!found || (!isFile(found) && found.key === entry.key)) {
      this.#filed.set(label, entry);
      return;
    }
    const file = isFile(found) ? found : fileOf(found);
    this.#filed.set(label, file);
    file.entries.set(entry.key, entry);
    file.list.note(entry.key, entry);
  }

  #remove(label: string, key: string): void {
    const found = this.#filed.get(label);
    if (!found) return;
    if (!isFile(found)) {
      if (found.key === key) this.#filed.delete(label);
      return;
    }
    found.entries.delete(key);
    found.list.note(key, undefined);
    if (found.entries.size === 0) this.#filed.delete(label);
  }
}

const NO_LABELS: readonly string[] = [];

function isFile(found: Entry | File): found is File {
  return 'list' in found;
}

function fileOf(first: Entry): File {
  const entries = new Map([[first.key, first]]);
  return { entries, list: new EntryList(() => entries.values()) };
}
