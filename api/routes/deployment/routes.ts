import { deploymentKind, listSteps, type StoredDeployment } from '../../../crds/deployment/index.js';
import { ranges } from '../../../crds/keys/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { explainWaiting } from '../../../pkg/fleet/index.js';
import { listValues, value } from '../../../pkg/store/index.js';
import { toExplanationView } from '../../admission/dry-run.js';
import type { AdmissionEnv, PlacementEnv } from '../../admission/env.js';
import { replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { write } from '../../write/write.js';
import { canaryOrdering } from './canary.js';
import { policyChange, policyRemoval, showScaling } from './scaling.js';
import { showUsage } from './usage.js';
import { loadDeployment, readStatus } from './view.js';
import { creation, removal, replacement } from './write.js';

const COLLECTION = deploymentKind.path;
const ONE = `${COLLECTION}/${deploymentKind.item}`;

/** Deployments: the workloads that tenants declare, and the explanation of their placement. */
export function createDeploymentRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => write(env, call, creation)),
    defineRoute('deployer', 'PUT', ONE, call => write(env, call, replacement)),
    defineRoute('deployer', 'DELETE', ONE, call => write(env, call, removal)),
    defineRoute('deployer', 'POST', `${ONE}/canary`, call => write(env, call, canaryOrdering), { grows: false }),
    defineRoute('viewer', 'GET', `${ONE}/scaling`, call => showScaling(env, call)),
    defineRoute('deployer', 'PUT', `${ONE}/scaling`, call => write(env, call, policyChange)),
    defineRoute('deployer', 'DELETE', `${ONE}/scaling`, call => write(env, call, policyRemoval)),
    defineRoute('viewer', 'GET', '/api/v1/usage', call => showUsage(env, call)),
    defineRoute('viewer', 'GET', `${ONE}/explain`, call => explain(env, call)),
    defineRoute('viewer', 'GET', '/api/v1/scheduler/regions', () => showRegions(env)),
  ];
}

/**
 * Why a deployment is not as asked: its status, the steps that follow from it, and every node, all of one revision. Nothing is
 * awaited after the deployment is found.
 */
async function explain({ cache, placementPolicy }: PlacementEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  const entry = await loadDeployment(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const deployment = value<StoredDeployment>(entry);
  const status = readStatus(cache, entry);
  const { uid } = deployment.metadata;
  const replicas = listValues<Replica>(cache, ranges.replicasOf(tenant, deployment.name));
  const own = replicas.filter(({ deploymentUid, retiringSince }) => deploymentUid === uid && !retiringSince);
  const waiting = own.filter(({ nodeId }) => nodeId === undefined);
  const unplaced = waiting.length;
  const view = toExplanationView(explainWaiting(deployment, waiting, { cache, policy: placementPolicy }));
  return replyJson(200, {
    deployment: deployment.name,
    uid,
    revision: String(cache.revision),
    phase: status.phase,
    message: status.message,
    steps: listSteps(deployment, status),
    unplaced,
    outlook: describeOutlook(unplaced, view),
    ...view,
  });
}

/** What the nodes mean for the replicas that have none. */
function describeOutlook(
  unplaced: number,
  { able, summary }: { readonly able: number; readonly summary: string },
): string {
  if (unplaced === 0) return 'no replica waits for a node';
  const waiting = unplaced === 1 ? '1 replica waits for a node' : `${unplaced} replicas wait for a node`;
  if (able === 0) return `${waiting}: ${summary}`;
  return `${waiting}: ${summary}. The scheduler has not placed ${unplaced === 1 ? 'it' : 'them'} yet`;
}

function showRegions({ placementPolicy }: PlacementEnv): RouteResult {
  const { enforced, declared } = placementPolicy.regions;
  return replyJson(200, { enforcement: enforced, regions: declared });
}
