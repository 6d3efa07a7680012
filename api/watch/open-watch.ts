import { ranges } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import type { Cache, Entry } from '../../pkg/store/index.js';
import type { ApiEnv } from '../env.js';
import type { Call } from '../http/call.js';
import { wrong } from '../http/query.js';
import { Refused } from '../http/rejection.js';
import { NDJSON_TYPE, SSE_TYPE } from '../http/reply.js';
import type { Resource } from '../http/resource.js';
import type { Outcome } from '../http/route.js';
import { type Cursor, type Format, parseCursor, type Shown } from './frame.js';
import type { History } from './history.js';
import type { Opening } from './watcher.js';

/** Answers a watch: from the cursor that the client names, or from the current state on. */
export async function openWatch(
  env: ApiEnv,
  call: Call,
  resource: Resource,
  wants: (entry: Entry) => boolean = () => true,
): Promise<Outcome> {
  const format: Format = (call.request.headers.accept ?? '').includes('text/event-stream') ? 'sse' : 'ndjson';
  const cursor = askedCursor(call, format);
  if (cursor instanceof Refused) return cursor;

  await env.cache.barrier();
  const topic = ranges.of(resource.range, call.tenant);
  const start = cursor ? resumed(env, resource, topic, cursor) : fresh(env, resource, topic);
  if (!start) return new Refused(reject('watch_expired', 'after', call.query.get('after') ?? ''));

  return {
    status: 200,
    type: format === 'sse' ? SSE_TYPE : NDJSON_TYPE,
    open: out => {
      const tail = env.tails.open({ out, resource, topic, format, wants, ...start }, () => forget());
      const forget = env.streams.add('watch', call.caller, () => tail.close());
    },
  };
}

function askedCursor({ query, request }: Call, format: Format): Cursor | Refused | undefined {
  const last = request.headers['last-event-id'];
  const text = (format === 'sse' && typeof last === 'string' ? last : undefined) ?? query.get('after');
  if (text === undefined) return undefined;
  return parseCursor(text) ?? wrong('after', text, 'a cursor of a watch, or the revision of a list');
}

interface Start {
  readonly from: number;
  readonly opening: Opening | undefined;
}

function fresh({ cache, tails }: ApiEnv, resource: Resource, topic: string): Start {
  const { history } = tails;
  const items = present(cache, resource, topic);
  return { from: history.next, opening: { revision: history.revision, items } };
}

function resumed({ cache, tails }: ApiEnv, resource: Resource, topic: string, cursor: Cursor): Start | undefined {
  const { history } = tails;
  if (cursor.revision > history.revision) return undefined; // of another store, or of one that was set back
  const from = history.numberAfter(cursor);
  if (from === undefined) return undefined;
  if (cursor.name === undefined) return { from, opening: undefined };

  const then = restAt(history, present(cache, resource, topic), { topic, from, name: cursor.name });
  return { from, opening: { revision: cursor.revision, items: then } };
}

/** Everything of a topic as it is now. The lists are immutable, so they may be read at the client's pace. */
function* present(cache: Cache, { range, joined }: Resource, topic: string): Generator<Shown> {
  const entries = cache.list(topic);
  const beside = joined === undefined ? [] : cache.list(joined + topic.slice(range.length));
  yield* paired(entries, beside, topic.length, (joined?.length ?? 0) + topic.length - range.length);
}

function* paired(
  entries: readonly Entry[],
  beside: readonly Entry[],
  entryPrefix: number,
  besidePrefix: number,
): Generator<Shown> {
  let at = 0;
  for (const entry of entries) {
    const name = entry.key.slice(entryPrefix);
    while (at < beside.length && beside[at]!.key.slice(besidePrefix) < name) at++;
    const candidate = beside[at];
    yield { entry, joined: candidate?.key.slice(besidePrefix) === name ? candidate : undefined };
  }
}

/** The rest of a list after `name`, as it was before the moment numbered `from`. */
function* restAt(
  history: History,
  now: Iterable<Shown>,
  { topic, from, name }: { readonly topic: string; readonly from: number; readonly name: string },
): Generator<Shown> {
  const then = new Map<string, Shown | undefined>();
  for (const shown of now) then.set(shown.entry.key.slice(topic.length), shown);
  for (const [changed, before] of history.undone(topic, from)) then.set(changed, before);
  for (const key of [...then.keys()].toSorted()) {
    const shown = then.get(key);
    if (key > name && shown) yield shown;
  }
}
