import { isDnsLabel } from '../../crds/grammar/index.js';
import { keyOf } from '../../crds/keys/index.js';
import type { Kind } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import type { Entry } from '../../pkg/store/index.js';
import { LIST_QUERY } from '../http/listing.js';
import { etagHeader, rejectRequest, replyJsonBytes, RequestRejection } from '../http/reply.js';
import { cacheView, type Resource, spliceDocument } from '../http/resource.js';
import type { ApiCall, Route } from '../http/route.js';
import { listOrWatch, type WatchEnv } from '../watch/open-watch.js';

/** What a kind reads in another way than the others. */
export interface KindReader {
  readonly resource?: Resource;
  /** The object that a call names. */
  readonly find?: (call: ApiCall) => Entry | RequestRejection;
}

type Stored = Kind & { readonly range: string; readonly path: string };

/** The kinds whose objects tenants read in the common way. */
export function listReadableKinds(known: readonly Kind[] = kinds): readonly Stored[] {
  return known.filter(
    (kind): kind is Stored => kind.scope === 'tenant' && kind.range !== undefined && kind.path !== undefined,
  );
}

const STATUS = Buffer.from(',"status":');
const NO_STATUS = Buffer.from('null');

/** A kind as lists and watches read it: the stored document, with the status beside it where the kind has one. */
export function toResource({ range, statusRange }: Stored): Resource {
  const view = cacheView((entry, status) =>
    statusRange === undefined ? spliceDocument(entry) : spliceDocument(entry, STATUS, status?.bytes ?? NO_STATUS),
  );
  return { range, view, ...(statusRange !== undefined && { joined: statusRange }) };
}

/** The routes that list, watch and show the objects of a kind, as far as its descriptor names these operations. */
export function readRoutes(env: WatchEnv, kind: Stored, own: KindReader = {}): readonly Route[] {
  const { path, item, operations } = kind;
  const resource = own.resource ?? toResource(kind);
  const find = own.find ?? (call => findObject(env, kind, call));
  const common = { method: 'GET', access: { tenant: 'viewer', admin: true }, tenant: 'own', body: 'none' } as const;
  const isWatched = operations.includes('watch');
  const list: Route = {
    ...common,
    path,
    query: isWatched ? LIST_QUERY : ['limit', 'continue'],
    handle: call => listOrWatch(env, call, resource),
  };
  const get: Route = {
    ...common,
    path: `${path}/${item ?? '{name}'}`,
    query: [],
    handle: async call => {
      await env.cache.barrier();
      const entry = find(call);
      if (entry instanceof RequestRejection) return entry;
      const { range, joined, view } = resource;
      const status = joined === undefined ? undefined : env.cache.get(joined + entry.key.slice(range.length));
      return replyJsonBytes(200, view(entry, status), etagHeader(entry.revision));
    },
  };
  return [...(operations.includes('list') ? [list] : []), ...(operations.includes('get') ? [get] : [])];
}

function findObject({ cache }: WatchEnv, kind: Stored, call: ApiCall) {
  const { notFound, item = '{name}' } = kind;
  const parameter = item.slice(1, -1);
  const name = call.params[parameter]!;
  const entry = isDnsLabel(name) ? cache.get(keyOf(kind, call.tenant, name)) : undefined;
  return entry ?? rejectRequest(notFound === 'deployment_not_found' ? notFound : 'resource_not_found', parameter, name);
}
