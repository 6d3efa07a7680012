import type { ApiEnv } from '../env.js';
import type { Route } from '../http/route.js';
import { agentRoutes } from './agent/routes.js';
import { deploymentRoutes } from './deployment/routes.js';
import { docRoutes } from '../docs/routes.js';
import { eventRoutes } from './event/routes.js';
import { explainRoutes } from './deployment/explain.js';
import { healthRoutes } from './health/routes.js';
import { jobRoutes } from './job/routes.js';
import { logRoutes } from './deployment/logs.js';
import { networkRoutes } from './network/routes.js';
import { nodeRoutes } from './node/routes.js';
import { rotationRoutes } from './rotation/routes.js';
import { secretRoutes } from './secret/routes.js';
import { quotaRoutes } from './tenant/quotas.js';
import { tenantRoutes } from './tenant/routes.js';
import { tokenRoutes } from './token/routes.js';

/** Every route there is. */
export function allRoutes(env: ApiEnv): readonly Route[] {
  const routes: readonly Route[] = [
    ...deploymentRoutes(env),
    ...explainRoutes(env),
    ...logRoutes(env),
    ...secretRoutes(env),
    ...rotationRoutes(env),
    ...jobRoutes(env),
    ...networkRoutes(env),
    ...eventRoutes(env),
    ...nodeRoutes(env),
    ...tenantRoutes(env),
    ...quotaRoutes(env),
    ...tokenRoutes(env),
    ...agentRoutes(env),
    ...healthRoutes(env),
    ...docRoutes(env, () => routes),
  ];
  return routes;
}
