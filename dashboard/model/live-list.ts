/** One line of a watch. */
export interface StreamedChange<T> {
  readonly type: 'added' | 'modified' | 'deleted' | 'bookmark' | 'gone';
  readonly cursor: string;
  readonly object: T;
}

/**
 * What a watch has shown so far. While a list is read again, the one before stays visible (`items`), so that nothing jumps and
 * what was deleted meanwhile is gone afterwards.
 */
export interface LiveList<T> {
  readonly items: ReadonlyMap<string, T>;
  /** The list that is being read; undefined when it is complete. */
  readonly reading: ReadonlyMap<string, T> | undefined;
  /** Where the watch goes on; undefined: from the beginning. */
  readonly cursor: string | undefined;
  /** Whether a list was complete once. */
  readonly isLoaded: boolean;
}

/** A list of which nothing was read yet. */
export function createLiveList<T>(): LiveList<T> {
  return { items: new Map(), reading: new Map(), cursor: undefined, isLoaded: false };
}

/** The list after a watch has expired: it is read from the beginning. */
export function restartLiveList<T>(list: LiveList<T>): LiveList<T> {
  return { ...list, reading: new Map(), cursor: undefined };
}

/** The list after some lines. Of a `limit`, the entries that came first are dropped. */
export function applyWatchLines<T>(
  list: LiveList<T>,
  lines: readonly StreamedChange<T>[],
  nameOf: (object: T) => string,
  limit = Number.POSITIVE_INFINITY,
): LiveList<T> {
  let { items, reading, cursor, isLoaded } = list;
  let changed: Map<string, T> | undefined;
  // What is being read is shown nowhere: a copy for each piece that arrives would cost the square of a long list.
  const change = () => (changed ??= reading ? (reading as Map<string, T>) : new Map(items));
  for (const { type, cursor: at, object } of lines) {
    if (type === 'gone')
      return restartLiveList({ items: reading ? items : (changed ?? items), reading, cursor, isLoaded });
    cursor = at;
    if (type === 'bookmark') {
      if (!reading) continue;
      items = changed ?? reading;
      [changed, reading, isLoaded] = [undefined, undefined, true];
    } else if (type === 'deleted') change().delete(nameOf(object));
    else keep(change(), nameOf(object), object, limit);
  }
  if (!changed) return { items, reading, cursor, isLoaded };
  return reading ? { items, reading: changed, cursor, isLoaded } : { items: changed, reading, cursor, isLoaded };
}

function keep<T>(map: Map<string, T>, name: string, object: T, limit: number): void {
  map.set(name, object);
  if (map.size > limit) map.delete(map.keys().next().value!);
}

/** The whole lines of what has arrived, and the rest, which is not complete yet. */
export function splitLines(text: string): { readonly lines: readonly string[]; readonly rest: string } {
  const parts = text.split('\n');
  const rest = parts.pop() ?? '';
  return { lines: parts.filter(line => line !== ''), rest };
}
