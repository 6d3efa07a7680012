import { ranges } from '../../../crds/keys/index.js';
import { checkJoinTokenRequest } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import type { ApiEnv } from '../../env.js';
import type { ApiCall } from '../../http/call.js';
import { LIST_QUERY, listPage, readListSource } from '../../http/listing.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { openWatch } from '../../watch/open-watch.js';
import { storeToken, toTokenResponse } from '../token/token.js';
import { nodeClaimRoutes } from './claims.js';
import { enrol } from './enrol.js';
import { nodeOrderRoutes } from './orders.js';
import { findNode, nodeResource, toNodeResponse } from './view.js';

const JOIN_SECONDS = 15 * 60;
const read = { tenant: 'viewer', admin: true } as const;

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
      query: WRITE_QUERY,
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
    ...nodeOrderRoutes(env),
    ...nodeClaimRoutes(env),
  ];
}

async function list(env: ApiEnv, call: ApiCall): Promise<RouteResult> {
  const watch = readFlag(call.query, 'watch');
  if (watch instanceof RequestRejection) return watch;
  const resource = nodeResource(env);
  if (watch) return openWatch(env, call, resource);
  await env.cache.barrier();
  // What is free on a node changes without the node: such a page is not kept.
  const { joinedEntries: _, ...source } = readListSource(env.cache, resource, call.tenant);
  return listPage(call, source);
}

async function get(env: ApiEnv, call: ApiCall): Promise<RouteResult> {
  const found = await findNode(env, call);
  if (found instanceof RequestRejection) return found;
  const status = env.cache.get(ranges.nodeStatuses + found.key.slice(ranges.nodes.length));
  return replyJson(200, toNodeResponse(env, found, status), etagHeader(found.revision));
}

async function makeJoinToken(env: ApiEnv, { tenant, document, caller, query }: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const checked = checkJoinTokenRequest(document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { nodeName } = checked.value;
  const draft = {
    kind: 'join',
    tenant,
    description: nodeName === undefined ? 'joins one node' : `joins the node ${nodeName}`,
    createdBy: caller.id,
    lifeSeconds: JOIN_SECONDS,
    ...(nodeName !== undefined && { nodeName }),
  } as const;
  if (isDryRun) return replyDryRun({ after: draft });
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored)))
    return new RequestRejection(reject('resource_not_found', 'X-Tenant-ID', tenant));
  return replyJson(201, { token: minted.text, ...toTokenResponse(minted.stored), alterations: [], warnings: [] });
}
