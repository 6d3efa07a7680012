import { reject } from '../../crds/rejections/index.js';
import type { CredentialPath } from '../../pkg/secrets/index.js';
import type { ApiEnv } from '../env.js';
import { Refused } from '../refusal.js';

/** The refusal of a path that the settings grant, and the policy of the secrets store does not. */
export function forbidden({ still }: ApiEnv, { namespace }: CredentialPath, field = 'namespace'): Refused {
  const granted = still.secretsPolicy.namespaces.filter(name => name !== namespace);
  return new Refused(reject('secret_path_namespace', field, namespace, { granted }));
}
