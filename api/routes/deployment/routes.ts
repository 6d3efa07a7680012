import type { ApiEnv } from '../../env.js';
import type { ApiCall } from '../../http/call.js';
import { LIST_QUERY, listPage, readListSource } from '../../http/listing.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJsonBytes } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { openWatch } from '../../watch/open-watch.js';
import { createDeployment } from './create.js';
import { deleteDeployment } from './delete.js';
import { replaceDeployment } from './replace.js';
import { deploymentResource, deploymentView, findDeployment, findStatus } from './view.js';

const read = { tenant: 'viewer', admin: true } as const;
const write = { tenant: 'deployer', admin: true } as const;
const COLLECTION = '/api/v1/deployments';
const ONE = '/api/v1/deployments/{name}';

/** Deployments: what tenants ask for. */
export function deploymentRoutes(env: ApiEnv): readonly Route[] {
  const common = { tenant: 'own', query: [], body: 'none' } as const;
  return [
    { ...common, method: 'GET', path: COLLECTION, access: read, query: LIST_QUERY, handle: call => list(env, call) },
    {
      ...common,
      method: 'POST',
      path: COLLECTION,
      access: write,
      query: WRITE_QUERY,
      body: 'json',
      handle: call => createDeployment(env, call),
    },
    { ...common, method: 'GET', path: ONE, access: read, handle: call => get(env, call) },
    {
      ...common,
      method: 'PUT',
      path: ONE,
      access: write,
      query: WRITE_QUERY,
      body: 'json',
      handle: call => replaceDeployment(env, call),
    },
    {
      ...common,
      method: 'DELETE',
      path: ONE,
      access: write,
      query: WRITE_QUERY,
      handle: call => deleteDeployment(env, call),
    },
  ];
}

async function list(env: ApiEnv, call: ApiCall): Promise<RouteResult> {
  const watch = readFlag(call.query, 'watch');
  if (watch instanceof RequestRejection) return watch;
  if (watch) return openWatch(env, call, deploymentResource);
  await env.cache.barrier();
  return listPage(call, readListSource(env.cache, deploymentResource, call.tenant));
}

async function get({ cache }: ApiEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  await cache.barrier();
  const entry = findDeployment(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  return replyJsonBytes(200, deploymentView(entry, findStatus(cache, entry)), etagHeader(entry.revision));
}
