import { isDnsLabel } from '../../crds/grammar/index.js';
import { buildKey, ranges } from '../../crds/keys/index.js';
import { getOperationRoute, type Kind, type KindOperation } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import { readRestoreEpoch } from '../../pkg/link/index.js';
import { type Entry, toSoundBytes } from '../../pkg/store/index.js';
import {
  LIST_QUERY,
  listPage,
  type ListSource,
  PAGE_QUERY,
  readListSource,
  readStoredSource,
} from '../http/listing.js';
import { type QueryParams, readFlag, rejectMisplaced } from '../http/query.js';
import { buildEtagHeader, rejectRequest, replyJsonBytes, RequestRejection } from '../http/reply.js';
import { cacheRendered, type Resource, spliceDocument, spliceStatus, toSpliceable } from '../http/resource.js';
import type { ApiCall, Route, RouteResult } from '../http/route.js';
import { openWatch, type WatchEnv } from '../watch/open-watch.js';

type StoredKind = Kind & { readonly range: string };
type RouteRights = Pick<Route, 'access' | 'tenant'>;

/** How a kind is read where that is not the common way. */
export interface ReaderOptions {
  readonly resource?: Resource;
  /** The query parameters of the list beside the common ones. */
  readonly query?: readonly string[];
  /** Which objects a query selects; undefined selects all of them. */
  readonly filter?: (
    query: QueryParams,
    operation: 'list' | 'watch',
  ) => ((entry: Entry) => boolean) | RequestRejection | undefined;
  /** The objects that a call may list; by default those of its tenant. */
  readonly readSource?: (call: ApiCall) => ListSource;
  /** The object that a call names. */
  readonly find?: (call: ApiCall) => Entry | RequestRejection;
  /** Which objects a caller may see, where that does not follow from their keys. */
  readonly isVisible?: (call: ApiCall, entry: Entry) => boolean;
  /** `after` also selects from the list, not only from a watch. */
  readonly listsAfter?: true;
  readonly listRights?: RouteRights;
  readonly getRights?: RouteRights;
}

/** How the objects of one kind are listed, watched and shown. */
export interface KindReader extends ReaderOptions {
  readonly kind: StoredKind;
  readonly resource: Resource;
}

/** The readers of all kinds whose records can be listed or shown; `options` are by the plural of a kind. */
export function createReaders(
  options: Readonly<Record<string, ReaderOptions>>,
  known: readonly Kind[] = kinds,
): readonly KindReader[] {
  return known
    .filter((kind): kind is StoredKind => kind.range !== undefined && kind.path !== undefined)
    .map(kind => ({ kind, resource: toResource(kind), ...options[kind.plural] }));
}

/** The stored document, with its status beside it where the kind has one; a record that is no document, as it is. */
function toResource({ range, statusRange, body }: StoredKind): Resource {
  if (!body) return { range, view: toSoundBytes };
  const view = cacheRendered((entry, status) =>
    statusRange === undefined ? spliceDocument(toSpliceable(entry)) : spliceStatus(entry, status),
  );
  return { range, view, ...(statusRange !== undefined && { joined: statusRange }) };
}

const RIGHTS: Readonly<Record<Kind['scope'], RouteRights>> = {
  tenant: { access: { tenant: 'viewer', admin: true }, tenant: 'own' },
  platform: { access: { admin: true }, tenant: 'none' },
};

/** The routes that list, watch and show the objects of a kind, as far as its descriptor names these operations. */
export function readRoutes(env: WatchEnv, reader: KindReader): readonly Route[] {
  const { kind, query = [], listRights = RIGHTS[kind.scope], getRights = RIGHTS[kind.scope] } = reader;
  const has = (operation: KindOperation) => kind.operations.includes(operation);
  const known = [...(has('watch') ? LIST_QUERY : PAGE_QUERY), ...query];
  const list = { ...getOperationRoute(kind, 'list'), ...listRights, query: known, body: 'none' } as const;
  const get = { ...getOperationRoute(kind, 'get'), ...getRights, query: [], body: 'none' } as const;
  return [
    ...(has('list') ? [{ ...list, handle: (call: ApiCall) => listOrWatch(env, call, reader) }] : []),
    ...(has('get') ? [{ ...get, handle: (call: ApiCall) => show(env, call, reader) }] : []),
  ];
}

async function listOrWatch(env: WatchEnv, call: ApiCall, reader: KindReader): Promise<RouteResult> {
  const { kind, resource, filter, readSource, isVisible, listsAfter = false } = reader;
  const isWatch = readFlag(call.query, 'watch');
  if (isWatch instanceof RequestRejection) return isWatch;
  const misplaced = rejectMisplaced(call.query, isWatch ? PAGE_QUERY : listsAfter ? [] : ['after'], isWatch);
  if (misplaced) return misplaced;
  const selects = filter?.(call.query, isWatch ? 'watch' : 'list');
  if (selects instanceof RequestRejection) return selects;
  const wants = isVisible ? (entry: Entry) => isVisible(call, entry) && (selects?.(entry) ?? true) : selects;
  const prefix = isOwned(kind) ? ranges.of(kind.range, call.tenant) : kind.range;
  if (isWatch) return openWatch(env, call, { resource, topic: prefix, ...(wants && { wants }) });

  if (resource.isUncached) {
    const stored = await readStoredSource(env.store, resource, prefix, call, wants);
    if (stored instanceof RequestRejection) return stored;
    return listPage(call, { ...stored, epoch: readRestoreEpoch(env.cache) });
  }
  await env.cache.barrier();
  const source = readSource?.(call) ?? readListSource(env.cache, resource, prefix);
  const epoch = readRestoreEpoch(env.cache);
  return listPage(call, wants ? { ...source, wants, epoch } : { ...source, epoch });
}

async function show(env: WatchEnv, call: ApiCall, { kind, resource, find }: KindReader): Promise<RouteResult> {
  await env.cache.barrier();
  const entry = find ? find(call) : findObject(env, call, kind);
  if (entry instanceof RequestRejection) return entry;
  const { range, joined, view } = resource;
  const status = joined === undefined ? undefined : env.cache.get(joined + entry.key.slice(range.length));
  return replyJsonBytes(200, view(entry, status), buildEtagHeader(entry.revision));
}

function findObject({ cache }: WatchEnv, call: ApiCall, kind: StoredKind): Entry | RequestRejection {
  const [parameter, name] = Object.entries(call.params)[0]!;
  const segments = isOwned(kind) ? [call.tenant, name] : [name];
  const entry = isDnsLabel(name) ? cache.get(buildKey(kind, ...segments)) : undefined;
  return entry ?? rejectRequest(kind.notFound ?? 'resource_not_found', parameter, name);
}

function isOwned({ keyParts }: Kind): boolean {
  return keyParts?.[0] === 'tenant';
}
