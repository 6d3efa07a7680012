import { type StoredDeployment } from '../../../crds/deployment/index.js';
import { explainDeployment } from '../../../pkg/fleet/index.js';
import { value } from '../../../pkg/store/index.js';
import type { ApiCall } from '../../http/call.js';
import type { PlacementEnv } from '../../admission/env.js';
import { RequestRejection } from '../../http/rejection.js';
import { replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { toExplanationView } from '../../admission/deployment-dry-run.js';
import { findDeployment } from './view.js';

const read = { tenant: 'viewer', admin: true } as const;

/** Why things are where they are, and what the control plane declares about where they may be. */
export function explainRoutes(env: PlacementEnv): readonly Route[] {
  const common = { method: 'GET', access: read, tenant: 'own', query: [], body: 'none' } as const;
  return [
    { ...common, path: '/api/v1/deployments/{name}/explain', handle: call => explain(env, call) },
    { ...common, path: '/api/v1/scheduler/regions', handle: () => regions(env) },
  ];
}

/** Computed for each request, from the nodes as they are now. */
async function explain({ cache, placementPolicy }: PlacementEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  await cache.barrier();
  const entry = findDeployment(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const deployment = value<StoredDeployment>(entry);
  const explanation = explainDeployment(deployment, tenant, { cache, policy: placementPolicy });
  return replyJson(200, { deployment: deployment.name, ...toExplanationView(explanation) });
}

function regions({ placementPolicy }: PlacementEnv): RouteResult {
  const { enforced, declared } = placementPolicy.regions;
  return replyJson(200, { enforcement: enforced, regions: declared });
}
