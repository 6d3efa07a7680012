import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkRotation, isRotationOpen } from '../../../crds/rotation/index.js';
import { value } from '../../../pkg/store/index.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { attempts, refuseUnlessMatches } from '../../http/concurrency.js';
import { flagIn, WRITE_QUERY } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { json } from '../../http/reply.js';
import type { Outcome, Route } from '../../http/route.js';
import { findDeployment } from '../deployment/view.js';
import { advance, tryAdvance } from './advance.js';
import { rotationOf } from '../../admission/rotations.js';
import { factsOf, pathsOf, rotationView } from './view.js';

const ROTATION = '/api/v1/deployments/{name}/secrets';

/** Rotations: a phase is asked for here, and carried out by the rotation phaser. */
export function rotationRoutes(env: ApiEnv): readonly Route[] {
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
      handle: call => attempts(call.params['name']!, () => rotateOnce(env, call)),
    },
  ];
}

async function showRotation({ cache }: ApiEnv, { tenant, params, query }: Call): Promise<Outcome> {
  await cache.barrier();
  const entry = findDeployment(cache, tenant, params['name']!);
  if (entry instanceof Refused) return entry;
  const deployment = value<StoredDeployment>(entry);
  const paths = pathsOf(deployment);
  const all = [...paths].map(([label, path]) => rotationOf(cache, tenant, label, path));
  const named = query.get('secret');
  const chosen =
    named === undefined
      ? (all.find(({ standing }) => isRotationOpen(standing)) ?? all[0])
      : all.find(({ label }) => label === named);
  if (!chosen) {
    const wanted = paths.size === 0 ? 'a deployment that refers to a secret' : `one of ${[...paths.keys()].join(', ')}`;
    return new Refused(reject('field_invalid', 'secret', named ?? '', { wanted }));
  }
  return json(200, rotationView(cache, deployment, chosen));
}

/** Undefined when somebody else was first. */
async function rotateOnce(env: ApiEnv, call: Call): Promise<Outcome | undefined> {
  const isTrial = flagIn(call.query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  await env.cache.barrier();
  const entry = findDeployment(env.cache, call.tenant, call.params['name']!);
  if (entry instanceof Refused) return entry;
  const deployment = value<StoredDeployment>(entry);
  const rotation = namedRotation(env, call, deployment);
  const refused = refuseUnlessMatches(call.request.headers['if-match'], undefined, entry.revision);
  if (refused) return refused;
  const facts = factsOf(env.cache, deployment, rotation);
  const checked = checkRotation(call.document, facts, env.deploymentLimits.secrets);
  if (!checked.ok) return new Refused(checked.rejections);
  if (deployment.metadata.deletedAt !== undefined) {
    return new Refused(reject('deployment_being_deleted', 'name', deployment.name));
  }
  const asking = { entry, deployment, rotation: rotation!, step: checked.value };
  return isTrial ? tryAdvance(env, call, asking) : advance(env, call, asking);
}

/** The rotation of the credential that the request names, or of the only one there is. */
function namedRotation({ cache }: ApiEnv, { document, tenant }: Call, deployment: StoredDeployment) {
  const paths = pathsOf(deployment);
  const named = (document as { readonly secret?: unknown } | null)?.secret;
  const label = named === undefined && paths.size === 1 ? [...paths.keys()][0] : named;
  const path = typeof label === 'string' ? paths.get(label) : undefined;
  return path === undefined ? undefined : rotationOf(cache, tenant, label as string, path);
}
