import { deploymentKind, type StoredDeployment } from '../../../crds/deployment/index.js';
import { explainDeployment } from '../../../pkg/fleet/index.js';
import { value } from '../../../pkg/store/index.js';
import { toExplanationView } from '../../admission/dry-run.js';
import type { AdmissionEnv, PlacementEnv } from '../../admission/env.js';
import { replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { loadDeployment } from './view.js';
import { createDeployment, deleteDeployment, replaceDeployment } from './write.js';

const COLLECTION = deploymentKind.path;
const ONE = `${COLLECTION}/${deploymentKind.item}`;

/** Deployments: the workloads that tenants declare, and the explanation of their placement. */
export function createDeploymentRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => createDeployment(env, call)),
    defineRoute('deployer', 'PUT', ONE, call => replaceDeployment(env, call)),
    defineRoute('deployer', 'DELETE', ONE, call => deleteDeployment(env, call)),
    defineRoute('viewer', 'GET', `${ONE}/explain`, call => explain(env, call)),
    defineRoute('viewer', 'GET', '/api/v1/scheduler/regions', () => showRegions(env)),
  ];
}

/** Computed for each request, from the nodes as they are now. */
async function explain({ cache, placementPolicy }: PlacementEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  const entry = await loadDeployment(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const deployment = value<StoredDeployment>(entry);
  const explanation = explainDeployment(deployment, tenant, { cache, policy: placementPolicy });
  return replyJson(200, { deployment: deployment.name, ...toExplanationView(explanation) });
}

function showRegions({ placementPolicy }: PlacementEnv): RouteResult {
  const { enforced, declared } = placementPolicy.regions;
  return replyJson(200, { enforcement: enforced, regions: declared });
}
