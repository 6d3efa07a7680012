import type { AdmissionEnv } from '../../admission/env.js';
import type { ApiCall } from '../../http/call.js';
import { LIST_QUERY } from '../../http/listing.js';
import { WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJsonBytes } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { listOrWatch, type WatchEnv } from '../../watch/open-watch.js';
import { deleteDeployment } from './delete.js';
import { createDeployment, replaceDeployment } from './write.js';
import { deploymentResource, deploymentView, findDeployment, findStatus } from './view.js';

const read = { tenant: 'viewer', admin: true } as const;
const write = { tenant: 'deployer', admin: true } as const;
const COLLECTION = '/api/v1/deployments';
const ONE = '/api/v1/deployments/{name}';

/** Deployments: what tenants ask for. */
export function deploymentRoutes(env: AdmissionEnv & WatchEnv): readonly Route[] {
  const common = { tenant: 'own', query: [], body: 'none' } as const;
  return [
    {
      ...common,
      method: 'GET',
      path: COLLECTION,
      access: read,
      query: LIST_QUERY,
      handle: call => listOrWatch(env, call, deploymentResource),
    },
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

async function get({ cache }: WatchEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  await cache.barrier();
  const entry = findDeployment(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  return replyJsonBytes(200, deploymentView(entry, findStatus(cache, entry)), etagHeader(entry.revision));
}
