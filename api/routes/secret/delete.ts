import { isSecretLabel } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { type CredentialPath, parseCredentialPath, formatVaultPath } from '../../../pkg/secrets/index.js';
import { namesOfUsers } from '../../admission/relations.js';
import { refuseWhileRotating } from '../../admission/rotations.js';
import { secretSubject, turnGuards, turnPuts } from '../../admission/conflict-keys.js';
import { attempts } from '../../http/concurrency.js';
import type { Call } from '../../http/call.js';
import type { ApiEnv } from '../../env.js';
import { flagIn } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { json } from '../../http/reply.js';
import type { Outcome } from '../../http/route.js';
import { trialReply } from '../../admission/dry-run.js';

/** Destroys a credential with all its versions, unless a deployment refers to it. */
export async function deleteSecret(env: ApiEnv, call: Call): Promise<Outcome> {
  const isTrial = flagIn(call.query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const { namespace = '', resource = '' } = call.params;
  const granted = env.still.secretsPolicy.namespaces;
  if (!granted.includes(namespace))
    return new Refused(reject('secret_path_namespace', 'namespace', namespace, { granted }));
  const path = isSecretLabel(resource) ? parseCredentialPath(call.tenant, `${namespace}/${resource}`) : undefined;
  if (!path) return new Refused(reject('secret_path_shape', 'resource', resource, { granted }));

  const turns = [keys.turn(call.tenant, secretSubject(path.label))];
  return env.turnstile.pass(turns, () => attempts(resource, () => deleteOnce(env, call, { path, turns, isTrial })));
}

interface Deletion {
  readonly path: CredentialPath;
  readonly turns: readonly string[];
  readonly isTrial: boolean;
}

/** Undefined when a reference may have been stored meanwhile. */
async function deleteOnce(
  env: ApiEnv,
  { tenant, requestId }: Call,
  { path, turns, isTrial }: Deletion,
): Promise<Outcome | undefined> {
  await env.cache.barrier();
  const guards = turnGuards(env.cache, turns);
  const users = namesOfUsers(env.cache, tenant, formatVaultPath(path));
  if (users.length > 0) return new Refused(reject('secret_in_use', 'resource', path.label, { users }));
  const refused = refuseWhileRotating(env.cache, path);
  if (refused) return refused;
  const state = await env.secrets.state(path);
  if (state.kind !== 'found') return new Refused(reject('resource_not_found', 'resource', path.label));

  const view = { namespace: path.namespace, resource: path.label, path: formatVaultPath(path) };
  if (isTrial) return trialReply({ before: view });
  const puts = turnPuts(turns, requestId, await env.eventLeases.current());
  if (!(await env.store.commit({ guards, puts, deletes: [] })).stored) return undefined;
  await env.secrets.delete(path);
  return json(200, { ...view, alterations: [], warnings: [] });
}
