import { keys } from '../../crds/keys/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { type Entry, value } from '../../pkg/store/index.js';
import { PAGE_BYTES } from '../http/listing.js';
import { rejectParameter } from '../http/query.js';
import { rejectRequest, RequestRejection, type WholeReply } from '../http/reply.js';
import type { ApiCall, RouteResult } from '../http/route.js';
import { createCursorAfter, type JoinedEntry, type WatchCursor } from '../watch/frame.js';
import { startWatch, type WatchEnv } from '../watch/open-watch.js';
import { listEntries } from './entries.js';
import { type OwnView, toPartial } from './objects.js';
import { readSwitch } from './request.js';
import { formatContinue, formatVersion, parseContinue, parseVersion } from './resource-version.js';
import { readSelectors } from './selectors.js';
import { type ServedResource, toTopic } from './served.js';
import { OBJECT_TYPE } from './status.js';
import { buildTable, type IncludedObject, type RenderedObject } from './table.js';
import { KubernetesLines, type ObjectForm, toRevision } from './watch-lines.js';

/** What objects are read with. */
export interface ReadEnv extends WatchEnv {
  readonly clock: Clock;
  readonly baseUrl: () => string;
}

/** What a call reads. */
export interface ReadTarget {
  readonly served: ServedResource;
  /** Whose objects; empty where the resource has no namespaces. */
  readonly tenant: string;
  /** Which of them the caller may see, where that does not follow from the tenant. */
  readonly isVisible?: (key: string) => boolean;
}

/** Answers an object as JSON. */
export function replyObject(status: number, object: object, headers?: WholeReply['headers']): WholeReply {
  const body = Buffer.from(JSON.stringify(object));
  return { status, body, type: OBJECT_TYPE, ...(headers && { headers }) };
}

/** A list of objects in the order of names, or the changes that follow one. */
export async function listOrWatch(env: ReadEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const isWatch = readSwitch(call.query, 'watch');
  if (isWatch instanceof RequestRejection) return isWatch;
  return isWatch ? watch(env, call, target) : list(env, call, target);
}

async function list(env: ReadEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { served, isVisible = () => true } = target;
  const selects = readSelectors(call.query, served.fields);
  if (selects instanceof RequestRejection) return selects;
  const form = readForm(env, call, served);
  if (form instanceof RequestRejection) return form;
  const limit = readLimit(call);
  if (limit instanceof RequestRejection) return limit;
  await env.cache.barrier();
  const { epoch } = env.watchHub.history;
  const start = readContinue(call, epoch);
  if (start instanceof RequestRejection) return start;
  const outdated = checkVersion(env, call);
  if (outdated) return outdated;

  const topic = toTopic(served, target.tenant);
  const { entries, revision: now, readUpTo } = await listEntries(env, served, topic, topic + start.name);
  const rendered: RenderedObject[] = [];
  let next: string | undefined;
  let last = '';
  let bytes = 0;
  for await (const entry of entries) {
    if (!isVisible(entry.key)) continue;
    const name = entry.key.slice(topic.length);
    const stored = join(env, served, entry);
    const found = served.project(stored, formatVersion(toRevision(stored), epoch)).filter(each => selects(each.object));
    if (rendered.length > 0 && (rendered.length + found.length > limit || bytes > PAGE_BYTES)) {
      next = last;
      break;
    }
    rendered.push(...found);
    if (found.length > 0) bytes += entry.bytes.length + (stored.joined?.bytes.length ?? 0);
    last = name;
  }
  next ??= readUpTo()?.slice(topic.length);
  // A watch from the revision of the first page also shows what has changed while the others were read.
  const revision = Math.min(start.revision, now);
  const metadata = {
    resourceVersion: formatVersion(revision, epoch),
    ...(next !== undefined && { continue: formatContinue(next, revision, epoch) }),
  };
  return replyObject(200, toList(served, rendered, metadata, form));
}

function toList(
  { group, kind }: ServedResource,
  rendered: readonly RenderedObject[],
  metadata: Readonly<Record<string, unknown>>,
  form: ObjectForm,
): object {
  if (typeof form === 'object') return buildTable(rendered, metadata, form);
  if (form === 'metadata') {
    const items = rendered.map(({ object }) => toPartial(object));
    return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items };
  }
  const apiVersion = group === '' ? 'v1' : `${group}/v1`;
  return { kind: `${kind}List`, apiVersion, metadata, items: rendered.map(({ object }) => object) };
}

/** One object. Undefined when there is none of that name that the caller may see. */
export async function findRendered(
  env: ReadEnv,
  target: ReadTarget,
  name: string,
): Promise<RenderedObject | undefined> {
  const { served, tenant, isVisible = () => true } = target;
  await env.cache.barrier();
  const { epoch } = env.watchHub.history;
  for (const entry of await listCandidates(env, served, tenant, name)) {
    if (!isVisible(entry.key)) continue;
    const stored = join(env, served, entry);
    const found = served
      .project(stored, formatVersion(toRevision(stored), epoch))
      .find(({ object }) => object.metadata.name === name);
    if (found) return found;
  }
  return undefined;
}

/** Most objects stand under their name; the others are looked for by it among all of the tenant. */
async function listCandidates(
  { cache, store }: ReadEnv,
  served: ServedResource,
  tenant: string,
  name: string,
): Promise<readonly Entry[]> {
  const topic = toTopic(served, tenant);
  const { resource, kind } = served.reader;
  if (kind.keyParts?.at(-1) !== kind.nameField) {
    return cache.list(topic).filter(entry => value<OwnView>(entry)[kind.nameField] === name);
  }
  const stored = served.toStoredName ? served.toStoredName(name) : name;
  if (stored === undefined || !NAME.test(stored)) return [];
  const entry = resource.isUncached ? await store.get(topic + stored) : cache.get(topic + stored);
  return entry ? [entry] : [];
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** Shows one object in the form that the client asks for. */
export function replyRendered(
  env: ReadEnv,
  call: ApiCall,
  served: ServedResource,
  rendered: RenderedObject,
): RouteResult {
  const form = readForm(env, call, served);
  if (form instanceof RequestRejection) return form;
  const { resourceVersion } = rendered.object.metadata;
  if (typeof form === 'object') return replyObject(200, buildTable([rendered], { resourceVersion }, form));
  return replyObject(200, form === 'metadata' ? toPartial(rendered.object) : rendered.object);
}

function join({ cache }: ReadEnv, { reader }: ServedResource, entry: Entry): JoinedEntry {
  const { joined, range } = reader.resource;
  return { entry, joined: joined === undefined ? undefined : cache.get(joined + entry.key.slice(range.length)) };
}

async function watch(env: ReadEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { query } = call;
  const { served, tenant, isVisible = () => true } = target;
  const { history } = env.watchHub;
  const selects = readSelectors(query, served.fields);
  if (selects instanceof RequestRejection) return selects;
  const form = readForm(env, call, served);
  if (form instanceof RequestRejection) return form;
  const wantsBookmarks = readSwitch(query, 'allowWatchBookmarks');
  if (wantsBookmarks instanceof RequestRejection) return wantsBookmarks;
  const marksOpening = readSwitch(query, 'sendInitialEvents');
  if (marksOpening instanceof RequestRejection) return marksOpening;
  const seconds = readSeconds(call);
  if (seconds instanceof RequestRejection) return seconds;
  await env.cache.barrier();
  const outdated = checkVersion(env, call);
  if (outdated) return outdated;

  const lines = new KubernetesLines({
    served,
    history,
    selects,
    isVisible,
    // The age of an object is as of the moment in which it is sent.
    form: () => (typeof form === 'object' ? { ...form, now: env.clock.now() } : form),
    wantsBookmarks,
    marksOpening,
    baseUrl: env.baseUrl,
  });
  const stream = await startWatch(env, call, {
    resource: served.reader.resource,
    topic: toTopic(served, tenant),
    cursor: marksOpening ? undefined : readStart(env, call),
    lines,
    type: OBJECT_TYPE,
    ...(seconds !== undefined && { endLater: end => env.clock.after(seconds * 1000, end) }),
  });
  return stream ?? rejectRequest('watch_expired', 'resourceVersion', query.get('resourceVersion') ?? '');
}

/** The place that a watch goes on from; undefined when it starts with the present state. */
function readStart({ watchHub }: ReadEnv, { query }: ApiCall): WatchCursor | undefined {
  const { revision, epoch } = watchHub.history;
  const version = query.get('resourceVersion') ?? '';
  if (version !== '' && version !== '0') return parseVersion(version);
  if (query.get('sendInitialEvents') !== 'false') return undefined;
  return { ...createCursorAfter(revision), ...(epoch !== undefined && { epoch }) };
}

/** Refuses a version that is none, or one that this store has not reached: it is of another one, or of before a restore. */
function checkVersion({ watchHub }: ReadEnv, { query }: ApiCall): RequestRejection | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '' || text === '0') return undefined;
  const version = parseVersion(text);
  if (!version) return rejectParameter('resourceVersion', text, 'a resourceVersion that this server has given');
  const { revision, epoch } = watchHub.history;
  const isExact = query.get('resourceVersionMatch') === 'Exact' && version.revision !== revision;
  const isOurs = version.epoch === epoch && version.revision <= revision && !isExact;
  return isOurs ? undefined : rejectRequest('watch_expired', 'resourceVersion', text);
}

/** Where a page begins, by the `continue` of the one before. */
function readContinue({ query }: ApiCall, epoch: number | undefined) {
  const token = query.get('continue') ?? '';
  if (token === '') return { name: '', revision: Number.POSITIVE_INFINITY };
  const start = parseContinue(token);
  if (!start) return rejectParameter('continue', token, 'the continue of the page before');
  return start.epoch === epoch ? start : rejectRequest('watch_expired', 'continue', token);
}

function readForm({ clock }: ReadEnv, { request, query }: ApiCall, served: ServedResource) {
  const accept = request.headers.accept ?? '';
  if (accept.includes('as=Table')) {
    const include = query.get('includeObject') ?? 'Metadata';
    if (!isIncluded(include)) return rejectParameter('includeObject', include, 'None, Metadata or Object');
    return { columns: served.columns, include, now: clock.now() };
  }
  return accept.includes('as=PartialObjectMetadata') ? 'metadata' : 'whole';
}

function isIncluded(text: string): text is IncludedObject {
  return text === 'None' || text === 'Metadata' || text === 'Object';
}

/** How many objects a page has at most: as many as its bytes allow where the client does not say. */
function readLimit({ query }: ApiCall): number | RequestRejection {
  const text = query.get('limit') ?? '0';
  if (!/^\d{1,9}$/.test(text)) return rejectParameter('limit', text, 'a number of objects, or 0 for all');
  return Number(text) || Number.POSITIVE_INFINITY;
}

const LONGEST_SECONDS = 86_400;

function readSeconds({ query }: ApiCall): number | undefined | RequestRejection {
  const text = query.get('timeoutSeconds');
  if (text === undefined || text === '0') return undefined;
  if (!/^\d{1,9}$/.test(text)) return rejectParameter('timeoutSeconds', text, 'a number of seconds');
  return Math.min(Number(text), LONGEST_SECONDS);
}

/** Whether a tenant exists now. */
export async function hasTenant({ cache }: ReadEnv, tenant: string): Promise<boolean> {
  await cache.barrier();
  return cache.get(keys.tenant(tenant)) !== undefined;
}
