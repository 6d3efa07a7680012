import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { checkRotation, isRotationOpen } from '../../../crds/rotation/index.js';
import { value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { readRotation } from '../../admission/rotations.js';
import { retryOnConflict } from '../../http/concurrency.js';
import { checkIfMatch } from '../../write/if-match.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { loadDeployment } from '../deployment/view.js';
import { advanceRotation, dryRunAdvance } from './advance.js';
import { listSecretPathsByLabel, readRotationFacts, toRotationView } from './view.js';

const SECRETS = '/api/v1/deployments/{name}/secrets';

/** Rotations: a phase is requested here and carried out by the rotation phaser. */
export function createRotationRoutes(env: AdmissionEnv): readonly Route[] {
  const rotate = (call: ApiCall) => retryOnConflict(call.params['name']!, () => rotateOnce(env, call));
  return [
    defineRoute('viewer', 'GET', `${SECRETS}/rotation`, call => showRotation(env, call), { query: ['secret'] }),
    defineRoute('deployer', 'POST', `${SECRETS}/rotate`, rotate, { grows: false }),
  ];
}

async function showRotation({ cache }: AdmissionEnv, { tenant, params, query }: ApiCall): Promise<RouteResult> {
  const entry = await loadDeployment(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const deployment = value<StoredDeployment>(entry);
  const paths = listSecretPathsByLabel(deployment);
  const all = [...paths].map(([label, path]) => readRotation(cache, tenant, label, path));
  const named = query.get('secret');
  const chosen =
    named === undefined
      ? (all.find(({ status }) => isRotationOpen(status)) ?? all[0])
      : all.find(({ label }) => label === named);
  if (!chosen) {
    const wanted = paths.size === 0 ? 'a deployment that refers to a secret' : `one of ${[...paths.keys()].join(', ')}`;
    return rejectRequest('field_invalid', 'secret', named ?? '', { wanted });
  }
  return replyJson(200, toRotationView(cache, deployment, chosen));
}

/** Undefined when a concurrent write was stored first. */
async function rotateOnce(env: AdmissionEnv, call: ApiCall): Promise<RouteResult | undefined> {
  const entry = await loadDeployment(env.cache, call.tenant, call.params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const deployment = value<StoredDeployment>(entry);
  const rotation = findRotation(env, call, deployment);
  const refused = checkIfMatch(call.request.headers['if-match'], undefined, entry);
  if (refused) return refused;
  const facts = readRotationFacts(env.cache, deployment, rotation);
  const checked = checkRotation(call.document, facts, env.deploymentLimits.secrets);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  if (deployment.metadata.deletedAt !== undefined) {
    return rejectRequest('deployment_being_deleted', 'name', deployment.name);
  }
  const request = { entry, deployment, rotation: rotation!, step: checked.value };
  return call.isDryRun ? dryRunAdvance(env, call, request) : advanceRotation(env, call, request);
}

/** The rotation of the credential that the request names, or of the only one there is. */
function findRotation({ cache }: AdmissionEnv, { document, tenant }: ApiCall, deployment: StoredDeployment) {
  const paths = listSecretPathsByLabel(deployment);
  const named = (document as { readonly secret?: unknown } | null)?.secret;
  const label = named === undefined && paths.size === 1 ? [...paths.keys()][0] : named;
  const path = typeof label === 'string' ? paths.get(label) : undefined;
  return path === undefined ? undefined : readRotation(cache, tenant, label as string, path);
}
