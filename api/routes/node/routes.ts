import { ranges } from '../../../crds/keys/index.js';
import { checkJoinTokenRequest } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import { trialReply } from '../../admission/dry-run.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { LIST_QUERY, listPage, sourceOf } from '../../http/listing.js';
import { flagIn, WRITE_QUERY } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { etag, json } from '../../http/reply.js';
import type { Outcome, Route } from '../../http/route.js';
import { openWatch } from '../../watch/open-watch.js';
import { storeToken, tokenView } from '../token/token.js';
import { nodeClaimRoutes } from './claims.js';
import { enrol } from './enrol.js';
import { nodeOrderRoutes } from './orders.js';
import { findNode, nodeResource, nodeView } from './view.js';

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

async function get(env: ApiEnv, call: Call): Promise<Outcome> {
  const found = await findNode(env, call);
  if (found instanceof Refused) return found;
  const status = env.cache.get(ranges.nodeStatuses + found.key.slice(ranges.nodes.length));
  return json(200, nodeView(env, found, status), etag(found.revision));
}

async function makeJoinToken(env: ApiEnv, { tenant, document, caller, query }: Call): Promise<Outcome> {
  const isTrial = flagIn(query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
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
  if (isTrial) return trialReply({ after: draft });
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored))) return new Refused(reject('resource_not_found', 'X-Tenant-ID', tenant));
  return json(201, { token: minted.text, ...tokenView(minted.stored), alterations: [], warnings: [] });
}
