import { isDnsLabel } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { checkJoinTokenRequest } from '../../crds/node/index.js';
import { reject } from '../../crds/rejections/index.js';
import { mintToken } from '../../pkg/auth/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';
import type { Call } from '../call.js';
import type { ApiEnv } from '../env.js';
import { LIST_QUERY, listPage, sourceOf } from '../listing.js';
import { flagIn } from '../query.js';
import { Refused } from '../refusal.js';
import { etag, json } from '../reply.js';
import type { Outcome, Route } from '../route.js';
import { tokenView } from '../views/token.js';
import { nodeResource, nodeView } from '../views/node.js';
import { openWatch } from '../watch/open-watch.js';
import { storeToken } from './store-token.js';
import { enrol } from './enrol.js';

const JOIN_SECONDS = 15 * 60;
const BY_ID = 'api.nodes-by-id';
const read = { tenant: 'viewer', admin: true } as const;

/** Files nodes by their id. To be called once, before the cache is fed. */
export function defineNodeIndex(cache: Cache): void {
  cache.defineIndex(BY_ID, ranges.nodes, entry => [value<{ id: string }>(entry).id]);
}

/** The node of an id, whoever's it is. */
export function nodeById(cache: Cache, id: string): Entry | undefined {
  return cache.by(BY_ID, id)[0];
}

/** Nodes: the machines that tenants have enrolled. */
export function nodeRoutes(env: ApiEnv): readonly Route[] {
  const common = { tenant: 'own', query: [], body: 'none' } as const;
  return [
    {
      ...common,
      method: 'GET',
      path: '/api/v1/nodes',
      access: read,
      query: LIST_QUERY,
      handle: call => list(env, call),
    },
    { ...common, method: 'GET', path: '/api/v1/nodes/{id}', access: read, handle: call => get(env, call) },
    {
      ...common,
      method: 'POST',
      path: '/api/v1/nodes/join-tokens',
      access: { tenant: 'admin', admin: true },
      body: 'json',
      handle: call => makeJoinToken(env, call),
    },
    {
      ...common,
      method: 'POST',
      path: '/api/v1/nodes',
      access: { join: true },
      body: 'json',
      handle: call => enrol(env, call),
    },
  ];
}

async function list(env: ApiEnv, call: Call): Promise<Outcome> {
  const watch = flagIn(call.query, 'watch');
  if (watch instanceof Refused) return watch;
  const resource = nodeResource(env);
  if (watch) return openWatch(env, call, resource);
  await env.cache.barrier();
  // What is free on a node changes without the node: such a page is not kept.
  const { beside: _, ...source } = sourceOf(env.cache, resource, call.tenant);
  return listPage(call, source);
}

async function get(env: ApiEnv, { tenant, params }: Call): Promise<Outcome> {
  await env.cache.barrier();
  const asked = params['id']!;
  const named = isDnsLabel(asked) ? env.cache.get(keys.node(tenant, asked)) : nodeById(env.cache, asked);
  if (!named?.key.startsWith(ranges.of(ranges.nodes, tenant))) {
    return new Refused(reject('resource_not_found', 'id', asked));
  }
  const status = env.cache.get(ranges.nodeStatuses + named.key.slice(ranges.nodes.length));
  return json(200, nodeView(env, named, status), etag(named.revision));
}

async function makeJoinToken(env: ApiEnv, { tenant, document, caller }: Call): Promise<Outcome> {
  const checked = checkJoinTokenRequest(document);
  if (!checked.ok) return new Refused(checked.rejections);
  const { nodeName } = checked.value;
  const draft = {
    kind: 'join',
    tenant,
    description: nodeName === undefined ? 'joins one node' : `joins the node ${nodeName}`,
    createdBy: caller.id,
    lifeSeconds: JOIN_SECONDS,
    ...(nodeName !== undefined && { nodeName }),
  } as const;
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored))) return new Refused(reject('resource_not_found', 'X-Tenant-ID', tenant));
  return json(201, { token: minted.text, ...tokenView(minted.stored), alterations: [], warnings: [] });
}
