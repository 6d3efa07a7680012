import { deploymentKind } from '../../../crds/deployment/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { WRITE_QUERY } from '../../http/query.js';
import type { Route } from '../../http/route.js';
import type { WatchEnv } from '../../watch/open-watch.js';
import { readRoutes } from '../kind-routes.js';
import { deleteDeployment } from './delete.js';
import { deploymentResource, findDeployment } from './view.js';
import { createDeployment, replaceDeployment } from './write.js';

const write = { tenant: 'deployer', admin: true } as const;
const COLLECTION = deploymentKind.path;
const ONE = `${COLLECTION}/${deploymentKind.item}`;

/** Deployments: what tenants ask for. */
export function deploymentRoutes(env: AdmissionEnv & WatchEnv): readonly Route[] {
  const common = { tenant: 'own', query: [], body: 'none' } as const;
  return [
    ...readRoutes(env, deploymentKind, {
      resource: deploymentResource,
      find: ({ tenant, params }) => findDeployment(env.cache, tenant, params['name']!),
    }),
    {
      ...common,
      method: 'POST',
      path: COLLECTION,
      access: write,
      query: WRITE_QUERY,
      body: 'json',
      handle: call => createDeployment(env, call),
    },
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
