import type { Entry } from './store.js';

/** Past this many changes since the last look, sorting anew is cheaper than mending. */
const MEND_AT_MOST = 256;

/**
 * Entries in key order, as an array that stays the same array until one of them changes: who derives something
 * from it, such as a serialised list, can keep that for as long as the array is the same.
 */
export class EntryList {
  readonly #all: () => Iterable<Entry>;
  readonly #changed = new Map<string, Entry | undefined>();
  #sorted: readonly Entry[] | undefined;

  /** `all` gives the present entries, in any order. */
  constructor(all: () => Iterable<Entry>) {
    this.#all = all;
  }

  /** Notes that `key` now holds `entry`, or nothing. Costs next to nothing until somebody looks. */
  note(key: string, entry: Entry | undefined): void {
    if (!this.#sorted) return;
    this.#changed.set(key, entry);
    if (this.#changed.size <= MEND_AT_MOST) return;
    this.#sorted = undefined;
    this.#changed.clear();
  }

  look(): readonly Entry[] {
    if (!this.#sorted) this.#sorted = [...this.#all()].sort((a, b) => (a.key < b.key ? -1 : 1));
    else if (this.#changed.size > 0) this.#sorted = mended(this.#sorted, this.#changed);
    this.#changed.clear();
    return this.#sorted;
  }
}

function mended(sorted: readonly Entry[], changed: ReadonlyMap<string, Entry | undefined>): readonly Entry[] {
  const list = sorted.slice();
  for (const [key, entry] of changed) {
    const at = placeOf(list, key);
    const found = list[at]?.key === key;
    if (entry && found) list[at] = entry;
    else if (entry) list.splice(at, 0, entry);
    else if (found) list.splice(at, 1);
  }
  return list;
}

/** Where `key` is, or would have to go. */
function placeOf(list: readonly Entry[], key: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
