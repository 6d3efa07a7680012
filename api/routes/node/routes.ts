import { ranges } from '../../../crds/keys/index.js';
import { checkJoinTokenRequest } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import type { ApiCall } from '../../http/call.js';
import { LIST_QUERY } from '../../http/listing.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { listOrWatch, type WatchEnv } from '../../watch/open-watch.js';
import { storeToken, toTokenResponse } from '../token/token.js';
import { nodeClaimRoutes } from './claims.js';
import { enrol } from './enrol.js';
import { nodeOrderRoutes } from './orders.js';
import { findNode, nodeResource, toNodeResponse, type NodeEnv } from './view.js';

const JOIN_SECONDS = 15 * 60;
const read = { tenant: 'viewer', admin: true } as const;

/** Nodes: the machines that tenants have enrolled. */
export function nodeRoutes(env: NodeEnv & WatchEnv): readonly Route[] {
  const resource = nodeResource(env);
  const common = { tenant: 'own', query: [], body: 'none' } as const;
  return [
    {
      ...common,
      method: 'GET',
      path: '/api/v1/nodes',
      access: read,
      query: LIST_QUERY,
      handle: call => listOrWatch(env, call, resource),
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

async function get(env: NodeEnv, call: ApiCall): Promise<RouteResult> {
  const found = await findNode(env, call);
  if (found instanceof RequestRejection) return found;
  const status = env.cache.get(ranges.nodeStatuses + found.key.slice(ranges.nodes.length));
  return replyJson(200, toNodeResponse(env, found, status), etagHeader(found.revision));
}

async function makeJoinToken(env: NodeEnv, { tenant, document, caller, query }: ApiCall): Promise<RouteResult> {
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
