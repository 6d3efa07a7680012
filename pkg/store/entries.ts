import type { Entry } from './entry.js';

/** Past this many changes since the last read, sorting again is cheaper than updating the sorted array. */
const UPDATE_AT_MOST = 256;

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

  /** Notes that `key` now holds `entry`, or nothing. Sorting waits for the next read. */
  note(key: string, entry: Entry | undefined): void {
    if (!this.#sorted) return;
    this.#changed.set(key, entry);
    if (this.#changed.size <= UPDATE_AT_MOST) return;
    this.#sorted = undefined;
    this.#changed.clear();
  }

  look(): readonly Entry[] {
    if (!this.#sorted) this.#sorted = [...this.#all()].sort((a, b) => (a.key < b.key ? -1 : 1));
    else if (this.#changed.size > 0) this.#sorted = updateSorted(this.#sorted, this.#changed);
    this.#changed.clear();
    return this.#sorted;
  }
}

function updateSorted(sorted: readonly Entry[], changed: ReadonlyMap<string, Entry | undefined>): readonly Entry[] {
  const list = sorted.slice();
  for (const [key, entry] of changed) {
    const at = findPlace(list, key);
    const found = list[at]?.key === key;
    if (entry && found) list[at] = entry;
    else if (entry) list.splice(at, 0, entry);
    else if (found) list.splice(at, 1);
  }
  return list;
}

/** Where `key` is, or would have to go. */
function findPlace(list: readonly Entry[], key: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

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
    const file = isFile(found) ? found : createFile(found);
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

function createFile(first: Entry): File {
  const entries = new Map([[first.key, first]]);
  return { entries, list: new EntryList(() => entries.values()) };
}

interface Folder {
  readonly entries: Map<string, Entry>;
  readonly folders: Map<string, Folder>;
  /** Only for folders that have been listed. */
  list: EntryList | undefined;
}

/** Entries by key, where a `/` opens a folder, so that everything below a prefix is found without looking elsewhere. */
export class KeyTree {
  readonly #root = emptyFolder();
  readonly #entries = new Map<string, Entry>();

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** Puts `entry` under `key`, or deletes the key. Gives the previous entry. */
  set(key: string, entry: Entry | undefined): Entry | undefined {
    const previous = this.#entries.get(key);
    if (entry) this.#put(key, entry);
    else if (previous) this.#delete(key);
    return previous;
  }

  /** Everything below a prefix that is empty or ends in `/`, in key order. The same array until something there changes. */
  list(prefix: string): readonly Entry[] {
    const folder = this.#find(prefix);
    if (!folder) return NOTHING;
    folder.list ??= new EntryList(() => below(folder));
    return folder.list.look();
  }

  #put(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    let folder = this.#root;
    folder.list?.note(key, entry);
    for (let from = 0, slash = key.indexOf('/'); slash >= 0; from = slash + 1, slash = key.indexOf('/', from)) {
      folder = innerFolder(folder, key.slice(from, slash));
      folder.list?.note(key, entry);
    }
    folder.entries.set(key, entry);
  }

  #delete(key: string): void {
    this.#entries.delete(key);
    const path = [{ name: '', folder: this.#root }];
    for (const name of key.split('/').slice(0, -1)) path.push({ name, folder: innerFolder(path.at(-1)!.folder, name) });
    for (const { folder } of path) folder.list?.note(key, undefined);
    path.at(-1)!.folder.entries.delete(key);
    prune(path);
  }

  #find(prefix: string): Folder | undefined {
    let folder: Folder | undefined = this.#root;
    for (let from = 0, slash = prefix.indexOf('/'); folder && slash >= 0; slash = prefix.indexOf('/', from)) {
      folder = folder.folders.get(prefix.slice(from, slash));
      from = slash + 1;
    }
    return folder;
  }
}

function emptyFolder(): Folder {
  return { entries: new Map(), folders: new Map(), list: undefined };
}

function innerFolder({ folders }: Folder, name: string): Folder {
  let folder = folders.get(name);
  if (!folder) {
    folder = emptyFolder();
    folders.set(name, folder);
  }
  return folder;
}

function* below(folder: Folder): Iterable<Entry> {
  yield* folder.entries.values();
  for (const inner of folder.folders.values()) yield* below(inner);
}

/** Takes away folders that have become empty, from the innermost outwards. */
function prune(path: readonly { readonly name: string; readonly folder: Folder }[]): void {
  for (let depth = path.length - 1; depth > 0; depth--) {
    const { name, folder } = path[depth]!;
    if (folder.entries.size > 0 || folder.folders.size > 0) return;
    path[depth - 1]!.folder.folders.delete(name);
  }
}
