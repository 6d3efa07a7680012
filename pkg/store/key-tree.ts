import { EntryList } from './entry-list.js';
import type { Entry } from './store.js';

const NOTHING: readonly Entry[] = Object.freeze([]);

interface Folder {
  readonly entries: Map<string, Entry>;
  readonly folders: Map<string, Folder>;
  /** Only for folders that somebody has listed. */
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

  /** Puts `entry` under `key`, or takes away what is there. Gives what was there before. */
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
    for (const name of prefix.split('/').slice(0, -1)) folder = folder?.folders.get(name);
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
