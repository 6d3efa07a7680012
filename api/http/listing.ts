import { ranges } from '../../crds/keys/index.js';
import type { Cache, Entry } from '../../pkg/store/index.js';
import type { Resource } from './resource.js';
import type { Call } from './call.js';
import { integerIn, type Query, wrong } from './query.js';
import { Refused } from './rejection.js';
import { jsonBytes } from './reply.js';
import type { Outcome } from './route.js';

/** The query parameters that every list knows. */
export const LIST_QUERY = ['limit', 'continue', 'watch', 'after'] as const;

const LIMIT = { min: 1, max: 500, fallback: 100 };
/** A page ends early when it has grown to this. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** So much is kept of the pages of one state of a list. */
const KEPT_BYTES = 32 * 1024 * 1024;
const OPEN = Buffer.from('{"items":[');
const COMMA = Buffer.from(',');

const keptOf = new WeakMap<readonly Entry[], KeptPages>();

/** What a page is taken from. */
export interface Source {
  /** In key order. */
  readonly entries: readonly Entry[];
  readonly revision: number;
  /** What all keys begin with. */
  readonly prefix: string;
  readonly view: (entry: Entry) => Buffer;
  /** What is shown beside the entries. Only a page whose source says so is kept for the next reader. */
  readonly beside?: readonly Entry[];
  readonly wants?: (entry: Entry) => boolean;
}

/** Where a tenant's things of one kind come from, as the cache shows them now. */
export function sourceOf(cache: Cache, { range, joined, view }: Resource, tenant: string): Source {
  const prefix = ranges.of(range, tenant);
  const { entries, revision } = cache.snapshot(prefix);
  if (joined === undefined)
    return { entries, revision, prefix, view: entry => view(entry, undefined), beside: NOTHING };
  return {
    entries,
    revision,
    prefix,
    beside: cache.list(joined + prefix.slice(range.length)),
    view: entry => view(entry, cache.get(joined + entry.key.slice(range.length))),
  };
}

/** Answers one page of a list, in the order of names. */
export function listPage({ query }: Call, source: Source): Outcome {
  const limit = integerIn(query, 'limit', LIMIT);
  if (limit instanceof Refused) return limit;
  const from = continuedFrom(query);
  if (from instanceof Refused) return from;

  const { items, next } = source.beside ? kept(source, from, limit) : makePage(source, from, limit);
  const continued = next === undefined ? 'null' : `"${tokenOf(next)}"`;
  return jsonBytes(200, [OPEN, items, Buffer.from(`],"revision":"${source.revision}","next":${continued}}`)]);
}

const NOTHING: readonly Entry[] = [];

function kept(source: Source, from: string, limit: number): Page {
  const { entries, beside } = source;
  const pages = keptOf.get(entries) ?? new KeptPages(KEPT_BYTES);
  keptOf.set(entries, pages);
  return pages.page(`${limit} ${from}`, beside, () => makePage(source, from, limit));
}

function makePage({ entries, prefix, view, wants, beside }: Source, from: string, limit: number): Page {
  const parts: Buffer[] = [];
  let bytes = 0;
  let count = 0;
  let last: string | undefined;
  for (let at = placeAfter(entries, prefix + from); at < entries.length; at++) {
    const entry = entries[at]!;
    if (wants && !wants(entry)) continue;
    if (count === limit || bytes > PAGE_BYTES) return { beside, items: Buffer.concat(parts, bytes), next: last };
    const item = view(entry);
    if (count > 0) parts.push(COMMA);
    parts.push(item);
    bytes += item.length + (count > 0 ? 1 : 0);
    count++;
    last = entry.key.slice(prefix.length);
  }
  return { beside, items: Buffer.concat(parts, bytes), next: undefined };
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

function tokenOf(name: string): string {
  return Buffer.from(name).toString('base64url');
}

function continuedFrom(query: Query): string | Refused {
  const token = query.get('continue');
  if (token === undefined) return '';
  const name = Buffer.from(token, 'base64url').toString('utf8');
  const isOurs = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/.test(name) && tokenOf(name) === token;
  return isOurs ? name : wrong('continue', token, 'the next of the page before');
}

/** A page of a list. */
export interface Page {
  /** What the page was made from; while it is the same, so is the page. */
  readonly beside: unknown;
  readonly items: Buffer;
  readonly next: string | undefined;
}

/** Keeps the pages that were made of one state of a list, as long as they are not too much together. */
export class KeptPages {
  readonly #most: number;
  readonly #pages = new Map<string, Page>();
  #bytes = 0;

  /** `most` bytes are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The page at a place, made anew when it is not kept or was made beside something else. */
  page(place: string, beside: unknown, make: () => Page): Page {
    const known = this.#pages.get(place);
    if (known && known.beside === beside) return known;
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
