import { type Cache, CompactedFault, type Entry, type ListingPage } from '../../pkg/store/index.js';
import { type QueryParams, readInteger, rejectParameter } from './query.js';
import { replyJsonBytes, RequestRejection } from './reply.js';
import type { Resource } from './resource.js';
import type { ApiCall, ReadableStore, RouteResult } from './route.js';

/** The query parameters that every list knows. */
export const PAGE_QUERY = ['limit', 'continue'] as const;
/** Those of a list that can also be watched. */
export const LIST_QUERY = [...PAGE_QUERY, 'watch', 'after'] as const;

const LIMIT = { min: 1, max: 500, fallback: 100 };
/** A page ends early when it has grown to this. */
export const PAGE_BYTES = 8 * 1024 * 1024;
/** Limit of the pages that are cached for one state of a list. */
const KEPT_BYTES = 32 * 1024 * 1024;
const OPEN = Buffer.from('{"items":[');
const COMMA = Buffer.from(',');

const pageCaches = new WeakMap<readonly Entry[], PageCache>();

/** What a page is built from. */
export interface ListSource {
  /** In key order. */
  readonly entries: readonly Entry[];
  readonly revision: number;
  /** What all keys begin with. */
  readonly prefix: string;
  readonly view: (entry: Entry) => Buffer;
  /** The entries that are joined into the view. Pages are cached only where this is given. */
  readonly joinedEntries?: readonly Entry[];
  readonly wants?: (entry: Entry) => boolean;
  /** The restore epoch of the store, which is part of the revision as clients get it. */
  readonly epoch?: number | undefined;
  /** The last key that was looked at, when the list goes on behind it. */
  readonly readUpTo?: string;
}

/** The objects of one kind under a prefix of its range, as the cache has them now. */
export function readListSource(cache: Cache, resource: Resource, prefix: string): ListSource {
  const { range, joined, view, isVolatile } = resource;
  const { entries, revision } = cache.snapshot(prefix);
  if (joined === undefined) {
    return { entries, revision, prefix, view: entry => view(entry, undefined), joinedEntries: NOTHING };
  }
  return {
    entries,
    revision,
    prefix,
    view: entry => view(entry, cache.get(joined + entry.key.slice(range.length))),
    ...(!isVolatile && { joinedEntries: cache.list(joined + prefix.slice(range.length)) }),
  };
}

/** As many entries as are read from the store at once. */
const READ_AT_ONCE = 500;
/** How often the store is read for one answer: a filter that nothing matches must not read the whole list. */
const READS_PER_PAGE = 4;

/**
 * As much of a list that is not cached as one page of it needs, read from the store at one revision. With a filter a page may
 * be short, or empty, although others follow.
 */
export async function readStoredSource(
  store: ReadableStore,
  resource: Resource,
  prefix: string,
  { query }: ApiCall,
  wants: (entry: Entry) => boolean = () => true,
): Promise<ListSource | RequestRejection> {
  const limit = readInteger(query, 'limit', LIMIT);
  if (limit instanceof RequestRejection) return limit;
  const from = readPageStart(query);
  if (from instanceof RequestRejection) return from;

  const entries: Entry[] = [];
  let bytes = 0;
  let first: number | undefined;
  let revision: number | undefined;
  let after = prefix + from.name;
  for (let reads = 1; ; reads++) {
    const page: ListingPage = await readPage(store, prefix, after, revision);
    revision = page.revision;
    first ??= revision; // a watch from here on misses nothing, also when a later part had to be read at a newer revision
    for (const entry of page.entries) {
      if (!wants(entry)) continue;
      entries.push(entry);
      bytes += entry.bytes.length;
    }
    const source = { entries, revision: first, prefix, view: (entry: Entry) => resource.view(entry, undefined) };
    const last = page.entries.at(-1)?.key;
    if (!page.more || last === undefined) return source;
    if (entries.length > limit || bytes > PAGE_BYTES || reads === READS_PER_PAGE) return { ...source, readUpTo: last };
    after = last;
  }
}

/** At the revision of the pages before, or at a newer one when that was compacted meanwhile. */
async function readPage(
  store: ReadableStore,
  prefix: string,
  after: string,
  at: number | undefined,
): Promise<ListingPage> {
  const options = { after, limit: READ_AT_ONCE };
  try {
    return await store.page(prefix, { ...options, at });
  } catch (thrown) {
    if (thrown instanceof CompactedFault && at !== undefined) return store.page(prefix, options);
    throw thrown;
  }
}

/** A cursor as clients get it: the place, and the restore epoch where a restore was ever declared. */
export function formatCursor(place: string, epoch: number | undefined): string {
  return epoch === undefined ? place : `${place}~${epoch.toString(36)}`;
}

/** Answers one page of a list, in the order of names. */
export function listPage({ query }: ApiCall, source: ListSource): RouteResult {
  const limit = readInteger(query, 'limit', LIMIT);
  if (limit instanceof RequestRejection) return limit;
  const from = readPageStart(query);
  if (from instanceof RequestRejection) return from;

  const { items, next } =
    source.joinedEntries && !source.wants ? kept(source, from.name, limit) : makePage(source, from.name, limit);
  // A watch from the revision of the first page also shows what has changed while the others were read.
  const revision = Math.min(from.revision, source.revision);
  const continued = next === undefined ? 'null' : `"${formatPageToken({ name: next, revision })}"`;
  const shown = formatCursor(String(revision), source.epoch);
  return replyJsonBytes(200, [OPEN, items, Buffer.from(`],"revision":"${shown}","next":${continued}}`)]);
}

const NOTHING: readonly Entry[] = [];

function kept(source: ListSource, from: string, limit: number): ListPage {
  const { entries, joinedEntries } = source;
  const pages = pageCaches.get(entries) ?? new PageCache(KEPT_BYTES);
  pageCaches.set(entries, pages);
  return pages.page(`${limit} ${from}`, joinedEntries, () => makePage(source, from, limit));
}

function makePage(source: ListSource, from: string, limit: number): ListPage {
  const { entries, prefix, view, wants, joinedEntries, readUpTo } = source;
  const parts: Buffer[] = [];
  let bytes = 0;
  let count = 0;
  let last: string | undefined;
  for (let at = placeAfter(entries, prefix + from); at < entries.length; at++) {
    const entry = entries[at]!;
    if (wants && !wants(entry)) continue;
    if (count === limit || bytes > PAGE_BYTES) return { joinedEntries, items: Buffer.concat(parts, bytes), next: last };
    const item = view(entry);
    if (count > 0) parts.push(COMMA);
    parts.push(item);
    bytes += item.length + (count > 0 ? 1 : 0);
    count++;
    last = entry.key.slice(prefix.length);
  }
  return { joinedEntries, items: Buffer.concat(parts, bytes), next: readUpTo?.slice(prefix.length) };
}

/** Index of the first entry whose key is greater. */
function placeAfter(entries: readonly Entry[], key: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.key <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where a list goes on, and the revision of its first page: all pages of one list carry it. */
export interface PageStart {
  /** The last name of the page before. */
  readonly name: string;
  readonly revision: number;
}

const FIRST_PAGE: PageStart = { name: '', revision: Number.POSITIVE_INFINITY };
const TOKEN = /^(\d{1,15}):([A-Za-z0-9][A-Za-z0-9._-]{0,252})$/;

/** The `continue` of a page. */
export function formatPageToken({ name, revision }: PageStart): string {
  return Buffer.from(`${revision}:${name}`).toString('base64url');
}

/** Where a page begins, by the `continue` of the one before. */
export function readPageStart(query: QueryParams): PageStart | RequestRejection {
  const token = query.get('continue');
  if (token === undefined) return FIRST_PAGE;
  const [, revision, name] = TOKEN.exec(Buffer.from(token, 'base64url').toString('utf8')) ?? [];
  const start = name === undefined ? undefined : { name, revision: Number(revision) };
  if (start && formatPageToken(start) === token) return start;
  return rejectParameter('continue', token, 'the next of the page before');
}

/** A page of a list. */
export interface ListPage {
  /** What the page was built from; the page is valid while this is the same list. */
  readonly joinedEntries: unknown;
  readonly items: Buffer;
  readonly next: string | undefined;
}

/** Caches the pages of one state of a list, up to a total size. */
export class PageCache {
  readonly #most: number;
  readonly #pages = new Map<string, ListPage>();
  #bytes = 0;

  /** `most` bytes are cached. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the cached page, or builds it when it is missing or its joined entries have changed. */
  page(place: string, joinedEntries: unknown, make: () => ListPage): ListPage {
    const known = this.#pages.get(place);
    if (known && known.joinedEntries === joinedEntries) return known;
    const made = make();
    this.#bytes += made.items.length - (known?.items.length ?? 0);
    if (this.#bytes > this.#most) {
      this.#pages.clear();
      this.#bytes = made.items.length;
    }
    if (this.#bytes <= this.#most) this.#pages.set(place, made);
    else this.#bytes = 0;
    return made;
  }
}
