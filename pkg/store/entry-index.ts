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
  readonly #files = new Map<string, File>();

  constructor(prefix: string, derive: (entry: Entry) => readonly string[]) {
    this.#prefix = prefix;
    this.#derive = derive;
  }

  set(key: string, previous: Entry | undefined, entry: Entry | undefined): void {
    if (!key.startsWith(this.#prefix)) return;
    const before = previous ? this.#derive(previous) : [];
    const now = entry ? this.#derive(entry) : [];
    for (const label of before) if (!now.includes(label)) this.#remove(label, key);
    if (entry) for (const label of now) this.#add(label, entry);
  }

  /** In key order. The same array until something there changes. */
  look(label: string): readonly Entry[] {
    return this.#files.get(label)?.list.look() ?? NOTHING;
  }

  #add(label: string, entry: Entry): void {
    let file = this.#files.get(label);
    if (!file) {
      const entries = new Map<string, Entry>();
      file = { entries, list: new EntryList(() => entries.values()) };
      this.#files.set(label, file);
    }
    file.entries.set(entry.key, entry);
    file.list.note(entry.key, entry);
  }

  #remove(label: string, key: string): void {
    const file = this.#files.get(label);
    if (!file) return;
    file.entries.delete(key);
    file.list.note(key, undefined);
    if (file.entries.size === 0) this.#files.delete(label);
  }
}
