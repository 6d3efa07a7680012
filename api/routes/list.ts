import type { ApiEnv } from '../env.js';
import type { Route } from '../route.js';
import { agentRoutes } from './agents.js';
import { deploymentRoutes } from './deployments.js';
import { docRoutes } from './docs.js';
import { eventRoutes } from './events.js';
import { explainRoutes } from './explain.js';
import { healthRoutes } from './health.js';
import { jobRoutes } from './jobs.js';
import { logRoutes } from './logs.js';
import { networkRoutes } from './networks.js';
import { nodeRoutes } from './nodes.js';
import { rotationRoutes } from './rotation.js';
import { secretRoutes } from './secrets.js';
import { quotaRoutes } from './quotas.js';
import { tenantRoutes } from './tenants.js';
import { tokenRoutes } from './tokens.js';

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
