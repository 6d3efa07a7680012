import type { Entry } from '../../pkg/store/index.js';
import type { ReadableStore } from '../http/route.js';
import type { WatchEnv } from '../watch/open-watch.js';
import type { ServedResource } from './served.js';

/** What a list is made from, in the order of keys. */
export interface ListedEntries {
  readonly revision: number;
  readonly entries: Iterable<Entry> | AsyncIterable<Entry>;
  /** The last key that was looked at, when there are more behind it than one answer reads. */
  readonly readUpTo: () => string | undefined;
}

const READ_AT_ONCE = 500;
/** How often the store is read for one answer: a selector that nothing matches must not read the whole list. */
const READS_MAX = 8;

/** The entries of a topic behind a key: as the cache has them, or from the store where they are not cached. */
export async function listEntries(
  { cache, store }: WatchEnv,
  { reader }: ServedResource,
  topic: string,
  after: string,
): Promise<ListedEntries> {
  if (!reader.resource.isUncached) {
    const { entries, revision } = cache.snapshot(topic);
    return { revision, entries: entries.filter(({ key }) => key > after), readUpTo: () => undefined };
  }
  const page = await store.page(topic, { after, limit: READ_AT_ONCE });
  let last: string | undefined;
  const entries = readPages(store, topic, page, key => {
    last = key;
  });
  return { revision: page.revision, entries, readUpTo: () => last };
}

type Page = Awaited<ReturnType<ReadableStore['page']>>;

async function* readPages(
  store: ReadableStore,
  topic: string,
  first: Page,
  stopAt: (key: string) => void,
): AsyncGenerator<Entry> {
  let page = first;
  for (let reads = 1; ; reads++) {
    yield* page.entries;
    const last = page.entries.at(-1)?.key;
    if (!page.more || last === undefined) return;
    if (reads === READS_MAX) return stopAt(last);
    page = await store.page(topic, { after: last, limit: READ_AT_ONCE });
  }
}
