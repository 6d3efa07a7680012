import type { StoredEvent } from '../../../crds/event/index.js';
import { ranges } from '../../../crds/keys/index.js';
import { type RejectionGroup, ungroupRejections } from '../../../crds/scheduling/index.js';
import { type Entry, value } from '../../../pkg/store/index.js';
import { LIST_QUERY, listPage, readListSource } from '../../http/listing.js';
import { type QueryParams, readFlag, rejectParameter } from '../../http/query.js';
import { RequestRejection } from '../../http/reply.js';
import { cacheView, type Resource } from '../../http/resource.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { parseCursor } from '../../watch/frame.js';
import { openWatch, type WatchEnv } from '../../watch/open-watch.js';

/** Events: what happened, oldest first. */
export function eventRoutes(env: WatchEnv): readonly Route[] {
  const query = [...LIST_QUERY, 'type', 'subject'];
  return [defineRoute('viewer', 'GET', '/api/v1/events', call => listEvents(env, call), { query })];
}

async function listEvents(env: WatchEnv, call: ApiCall): Promise<RouteResult> {
  const isWatch = readFlag(call.query, 'watch');
  if (isWatch instanceof RequestRejection) return isWatch;
  const wants = createFilter(call.query);
  if (isWatch) return openWatch(env, call, eventResource, wants);

  const since = call.query.get('after');
  const cursor = since === undefined ? undefined : parseCursor(since);
  if (since !== undefined && !cursor)
    return rejectParameter('after', since, 'a cursor of a watch, or the revision of a list');
  await env.cache.barrier();
  const source = readListSource(env.cache, eventResource, call.tenant);
  if (!cursor && !call.query.has('type') && !call.query.has('subject')) return listPage(call, source);

  const { joinedEntries: _, ...filtered } = source;
  const after = cursor?.revision ?? 0;
  return listPage(call, { ...filtered, wants: entry => entry.revision > after && wants(entry) });
}

/** `type` is an event type; `subject` a name, an id, or a kind and a name as `Deployment/web`. */
function createFilter(query: QueryParams): (entry: Entry) => boolean {
  const type = query.get('type');
  const subject = query.get('subject');
  if (type === undefined && subject === undefined) return () => true;
  return entry => {
    const event = value<StoredEvent>(entry);
    if (type !== undefined && event.type !== type) return false;
    if (subject === undefined) return true;
    const { kind, name, id } = event.subject;
    return subject === name || subject === id || subject === `${kind}/${name}`;
  };
}

const GROUPS = Buffer.from('"data":{"groups":');

/** An event as clients see it: as it is stored, with its revision, and with one entry for each node. */
export const eventView = cacheView(entry => {
  const { bytes, revision } = entry;
  const body = bytes.includes(GROUPS) ? expandGroups(entry) : bytes;
  return Buffer.concat([Buffer.from(`{"revision":"${revision}",`), body.subarray(1)]);
});

/** Events, for lists and watches. */
export const eventResource: Resource = { range: ranges.events, view: eventView };

/** Nodes are stored in groups with equal rejections; clients get the rejections of each node. */
function expandGroups(entry: Entry): Buffer {
  const event = value<StoredEvent>(entry);
  const { groups, ...data } = event.data;
  return Buffer.from(
    JSON.stringify({ ...event, data: { candidates: ungroupRejections(groups as readonly RejectionGroup[]), ...data } }),
  );
}
