import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { LIST_QUERY, listPage, sourceOf } from '../../http/listing.js';
import { flagIn, WRITE_QUERY } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { etag, jsonBytes } from '../../http/reply.js';
import type { Outcome, Route } from '../../http/route.js';
import { openWatch } from '../../watch/open-watch.js';
import { createDeployment } from './create.js';
import { deleteDeployment } from './delete.js';
import { replaceDeployment } from './replace.js';
import { deploymentResource, deploymentView, findDeployment, statusOf } from './view.js';

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

async function list(env: ApiEnv, call: Call): Promise<Outcome> {
  const watch = flagIn(call.query, 'watch');
  if (watch instanceof Refused) return watch;
  if (watch) return openWatch(env, call, deploymentResource);
  await env.cache.barrier();
  return listPage(call, sourceOf(env.cache, deploymentResource, call.tenant));
}

async function get({ cache }: ApiEnv, { tenant, params }: Call): Promise<Outcome> {
  await cache.barrier();
  const entry = findDeployment(cache, tenant, params['name']!);
  if (entry instanceof Refused) return entry;
  return jsonBytes(200, deploymentView(entry, statusOf(cache, entry)), etag(entry.revision));
}
