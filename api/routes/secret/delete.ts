import { isSecretLabel } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { type CredentialPath, parseCredentialPath, formatVaultPath } from '../../../pkg/secrets/index.js';
import { listSecretUserNames } from '../../admission/relations.js';
import { refuseWhileRotating } from '../../admission/rotations.js';
import { secretSubject, guardConflictKeys, putConflictKeys } from '../../admission/conflict-keys.js';
import { retryOnConflict } from '../../http/concurrency.js';
import type { ApiCall } from '../../http/call.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { readFlag } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { replyJson } from '../../http/reply.js';
import type { RouteResult } from '../../http/route.js';
import { replyDryRun } from '../../admission/dry-run.js';

/** Destroys a credential with all its versions, unless a deployment refers to it. */
export async function deleteSecret(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const { namespace = '', resource = '' } = call.params;
  const granted = env.staticFacts.secretsPolicy.namespaces;
  if (!granted.includes(namespace))
    return new RequestRejection(reject('secret_path_namespace', 'namespace', namespace, { granted }));
  const path = isSecretLabel(resource) ? parseCredentialPath(call.tenant, `${namespace}/${resource}`) : undefined;
  if (!path) return new RequestRejection(reject('secret_path_shape', 'resource', resource, { granted }));

  const conflictKeys = [keys.turn(call.tenant, secretSubject(path.label))];
  return env.mutex.run(conflictKeys, () =>
    retryOnConflict(resource, () => deleteOnce(env, call, { path, conflictKeys, isDryRun })),
  );
}

interface Deletion {
  readonly path: CredentialPath;
  readonly conflictKeys: readonly string[];
  readonly isDryRun: boolean;
}

/** Undefined when a reference may have been stored meanwhile. */
async function deleteOnce(
  env: AdmissionEnv,
  { tenant, requestId }: ApiCall,
  { path, conflictKeys, isDryRun }: Deletion,
): Promise<RouteResult | undefined> {
  await env.cache.barrier();
  const guards = guardConflictKeys(env.cache, conflictKeys);
  const users = listSecretUserNames(env.cache, tenant, formatVaultPath(path));
  if (users.length > 0) return new RequestRejection(reject('secret_in_use', 'resource', path.label, { users }));
  const refused = refuseWhileRotating(env.cache, path);
  if (refused) return refused;
  const state = await env.secrets.state(path);
  if (state.kind !== 'found') return new RequestRejection(reject('resource_not_found', 'resource', path.label));

  const view = { namespace: path.namespace, resource: path.label, path: formatVaultPath(path) };
  if (isDryRun) return replyDryRun({ before: view });
  const puts = putConflictKeys(conflictKeys, requestId, await env.eventLeases.current());
  if (!(await env.store.commit({ guards, puts, deletes: [] })).stored) return undefined;
  await env.secrets.delete(path);
  return replyJson(200, { ...view, alterations: [], warnings: [] });
}
