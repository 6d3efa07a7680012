import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkRotation, isRotationOpen } from '../../../crds/rotation/index.js';
import { value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import type { ApiCall } from '../../http/call.js';
import { retryOnConflict, checkIfMatch } from '../../http/concurrency.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { findDeployment } from '../deployment/view.js';
import { advanceRotation, dryRunAdvance } from './advance.js';
import { readRotation } from '../../admission/rotations.js';
import { readRotationFacts, listSecretPathsByLabel, toRotationView } from './view.js';

const ROTATION = '/api/v1/deployments/{name}/secrets';

/** Rotations: a phase is requested here and carried out by the rotation phaser. */
export function rotationRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    {
      method: 'GET',
      path: `${ROTATION}/rotation`,
      access: { tenant: 'viewer', admin: true },
      tenant: 'own',
      query: ['secret'],
      body: 'none',
      handle: call => showRotation(env, call),
    },
    {
      method: 'POST',
      path: `${ROTATION}/rotate`,
      access: { tenant: 'deployer', admin: true },
      tenant: 'own',
      query: WRITE_QUERY,
      body: 'json',
      handle: call => retryOnConflict(call.params['name']!, () => rotateOnce(env, call)),
    },
  ];
}

async function showRotation({ cache }: AdmissionEnv, { tenant, params, query }: ApiCall): Promise<RouteResult> {
  await cache.barrier();
  const entry = findDeployment(cache, tenant, params['name']!);
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
    return new RequestRejection(reject('field_invalid', 'secret', named ?? '', { wanted }));
  }
  return replyJson(200, toRotationView(cache, deployment, chosen));
}

/** Undefined when a concurrent write was stored first. */
async function rotateOnce(env: AdmissionEnv, call: ApiCall): Promise<RouteResult | undefined> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  await env.cache.barrier();
  const entry = findDeployment(env.cache, call.tenant, call.params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const deployment = value<StoredDeployment>(entry);
  const rotation = namedRotation(env, call, deployment);
  const refused = checkIfMatch(call.request.headers['if-match'], undefined, entry.revision);
  if (refused) return refused;
  const facts = readRotationFacts(env.cache, deployment, rotation);
  const checked = checkRotation(call.document, facts, env.deploymentLimits.secrets);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  if (deployment.metadata.deletedAt !== undefined) {
    return new RequestRejection(reject('deployment_being_deleted', 'name', deployment.name));
  }
  const asking = { entry, deployment, rotation: rotation!, step: checked.value };
  return isDryRun ? dryRunAdvance(env, call, asking) : advanceRotation(env, call, asking);
}

/** The rotation of the credential that the request names, or of the only one there is. */
function namedRotation({ cache }: AdmissionEnv, { document, tenant }: ApiCall, deployment: StoredDeployment) {
  const paths = listSecretPathsByLabel(deployment);
  const named = (document as { readonly secret?: unknown } | null)?.secret;
  const label = named === undefined && paths.size === 1 ? [...paths.keys()][0] : named;
  const path = typeof label === 'string' ? paths.get(label) : undefined;
  return path === undefined ? undefined : readRotation(cache, tenant, label as string, path);
}
