import { type Cache, CompactedFault, type Entry, type ListingPage } from '../../pkg/store/index.js';
import { rejectParameter } from '../http/query.js';
import { NDJSON_TYPE, rejectRequest, RequestRejection, SSE_TYPE, type StreamReply } from '../http/reply.js';
import type { Resource } from '../http/resource.js';
import type { ApiCall, ReadableStore, RouteResult } from '../http/route.js';
import type { OpenStreams } from '../stream/open-streams.js';
import { createCursorAfter, type JoinedEntry, parseCursor, type WatchCursor, type WatchFormat } from './frame.js';
import type { WatchHistory } from './history.js';
import { type LineWriter, WatchLines } from './lines.js';
import type { WatchHub } from './watch-hub.js';
import type { InitialList } from './watcher.js';

/** What lists and watches are answered with. */
export interface WatchEnv {
  readonly cache: Cache;
  readonly store: ReadableStore;
  readonly streams: OpenStreams;
  readonly watchHub: WatchHub;
}

/** What is watched: the objects of a resource whose keys begin with `topic`, as far as they are wanted. */
export interface WatchTarget {
  readonly resource: Resource;
  readonly topic: string;
  readonly wants?: (entry: Entry) => boolean;
}

/** Answers a watch: from the cursor that the client names, or from the current state on. */
export async function openWatch(
  env: WatchEnv,
  call: ApiCall,
  { resource, topic, wants = () => true }: WatchTarget,
): Promise<RouteResult> {
  const format = readFormat(call);
  const cursor = readCursor(call, format);
  if (cursor instanceof RequestRejection) return cursor;
  const { history } = env.watchHub;
  const lines = new WatchLines({ format, resource, topic, history, wants });
  const type = format === 'sse' ? SSE_TYPE : NDJSON_TYPE;
  const stream = await startWatch(env, call, { resource, topic, cursor, lines, type });
  return stream ?? rejectRequest('watch_expired', 'after', call.query.get('after') ?? '');
}

/** A watch from a place on, or from the current state on where there is no cursor. */
export interface WatchStart {
  readonly resource: Resource;
  readonly topic: string;
  readonly cursor: WatchCursor | undefined;
  readonly lines: LineWriter;
  readonly type: string;
  /** Calls `end` when the watch has lasted long enough; gives how to take that back. */
  readonly endLater?: (end: () => void) => () => void;
}

/** The stream of a watch; undefined when changes after its cursor are not kept any more. */
export async function startWatch(
  env: WatchEnv,
  { caller }: Pick<ApiCall, 'caller'>,
  { resource, topic, cursor, lines, type, endLater = () => () => undefined }: WatchStart,
): Promise<StreamReply | undefined> {
  await env.cache.barrier();
  // Revisions begin again at that of the backup when a store is restored: the same number is another place.
  if (cursor && cursor.epoch !== env.watchHub.history.epoch) return undefined;
  const start = resource.isUncached
    ? await startFromStore(env, topic, cursor)
    : cursor
      ? resumeAt(env, resource, topic, cursor)
      : startNow(env, resource, topic);
  if (!start) return undefined;

  return {
    status: 200,
    type,
    open: out => {
      let isOver = false;
      const atEnd: (() => void)[] = [];
      const watcher = env.watchHub.open({ out, topic, lines, ...start }, () => {
        isOver = true;
        for (const act of atEnd) act();
      });
      // One whose place was lost while it waited for its turn on the connection has ended already.
      if (isOver) return;
      const end = () => watcher.close();
      atEnd.push(env.streams.add('watch', caller, end), endLater(end));
    },
  };
}

/** The form of lines that the client accepts. */
export function readFormat({ request }: ApiCall): WatchFormat {
  return (request.headers.accept ?? '').includes('text/event-stream') ? 'sse' : 'ndjson';
}

/** The place after which a client wants to go on. */
export function readCursor(
  { query, request }: ApiCall,
  format: WatchFormat,
): WatchCursor | RequestRejection | undefined {
  const last = request.headers['last-event-id'];
  const text = (format === 'sse' && typeof last === 'string' ? last : undefined) ?? query.get('after');
  if (text === undefined) return undefined;
  return parseCursor(text) ?? rejectParameter('after', text, 'a cursor of a watch, or the revision of a list');
}

interface Start {
  readonly from: number;
  readonly initialList: InitialList | undefined;
}

function startNow({ cache, watchHub }: WatchEnv, resource: Resource, topic: string): Start {
  const { history } = watchHub;
  const items = listCurrent(cache, resource, topic);
  return { from: history.next, initialList: { revision: history.revision, items } };
}

const READ_AT_ONCE = 200;

/** As the others, with a list that is read from the store at the client's pace. */
async function startFromStore(
  env: WatchEnv,
  topic: string,
  cursor: WatchCursor | undefined,
): Promise<Start | undefined> {
  const { history } = env.watchHub;
  if (cursor && cursor.revision > history.revision) return undefined; // of another store, or of one that was set back
  if (cursor && cursor.name === undefined) {
    const from = history.numberAfter(cursor);
    return from === undefined ? undefined : { from, initialList: undefined };
  }
  try {
    const after = cursor && topic + cursor.name!;
    const initialList = await readInitialList(env.store, topic, after, cursor?.revision);
    await env.cache.reached(initialList.revision);
    const from = history.numberAfter(createCursorAfter(initialList.revision));
    return from === undefined ? undefined : { from, initialList };
  } catch (thrown) {
    if (thrown instanceof CompactedFault) return undefined;
    throw thrown;
  }
}

async function readInitialList(store: ReadableStore, topic: string, after?: string, at?: number): Promise<InitialList> {
  const page: ListingPage = await store.page(topic, { after, limit: READ_AT_ONCE, at });
  const { entries, revision, more } = page;
  const last = entries.at(-1)?.key;
  return {
    revision,
    items: entries.map(entry => ({ entry, joined: undefined })).values(),
    next: more && last !== undefined ? () => readInitialList(store, topic, last, revision) : undefined,
  };
}

function resumeAt(
  { cache, watchHub }: WatchEnv,
  resource: Resource,
  topic: string,
  cursor: WatchCursor,
): Start | undefined {
  const { history } = watchHub;
  if (cursor.revision > history.revision) return undefined; // of another store, or of one that was set back
  const from = history.numberAfter(cursor);
  if (from === undefined) return undefined;
  if (cursor.name === undefined) return { from, initialList: undefined };

  const then = listRestAt(history, listCurrent(cache, resource, topic), { topic, from, name: cursor.name });
  return { from, initialList: { revision: cursor.revision, items: then } };
}

/** Everything of a topic as it is now. The lists are immutable, so they may be read at the client's pace. */
function* listCurrent(cache: Cache, { range, joined }: Resource, topic: string): Generator<JoinedEntry> {
  const others = joined === undefined ? [] : cache.list(joined + topic.slice(range.length));
  const prefix = (joined?.length ?? 0) + topic.length - range.length;
  let at = 0;
  for (const entry of cache.list(topic)) {
    const name = entry.key.slice(topic.length);
    while (at < others.length && others[at]!.key.slice(prefix) < name) at++;
    const other = others[at];
    yield { entry, joined: other?.key.slice(prefix) === name ? other : undefined };
  }
}

/** The rest of a list after `name`, as it was before the frame numbered `from`. */
function* listRestAt(
  history: WatchHistory,
  now: Iterable<JoinedEntry>,
  { topic, from, name }: { readonly topic: string; readonly from: number; readonly name: string },
): Generator<JoinedEntry> {
  const then = new Map<string, JoinedEntry | undefined>();
  for (const shown of now) then.set(shown.entry.key.slice(topic.length), shown);
  for (const [changed, before] of history.undone(topic, from)) then.set(changed, before);
  for (const key of [...then.keys()].toSorted()) {
    const shown = then.get(key);
    if (key > name && shown) yield shown;
  }
}
