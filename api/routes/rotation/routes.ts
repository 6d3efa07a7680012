import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { isRotationOpen } from '../../../crds/rotation/index.js';
import { value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { readRotation } from '../../admission/rotations.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { write } from '../../write/write.js';
import { loadDeployment } from '../deployment/view.js';
import { advance } from './advance.js';
import { listSecretPathsByLabel, toRotationView } from './view.js';

const SECRETS = '/api/v1/deployments/{name}/secrets';

/** Rotations: a phase is requested here and carried out by the rotation phaser. */
export function createRotationRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('viewer', 'GET', `${SECRETS}/rotation`, call => showRotation(env, call), { query: ['secret'] }),
    defineRoute('deployer', 'POST', `${SECRETS}/rotate`, call => write(env, call, advance), { grows: false }),
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
