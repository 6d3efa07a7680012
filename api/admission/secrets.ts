import type { Deployment } from '../../crds/deployment/index.js';
import { findPlaceholders, parseSecretPath, parseTemplate } from '../../crds/grammar/index.js';
import type { Warning } from '../../crds/rule/index.js';
import type { SecretWrite } from '../../crds/secret/index.js';

/**
 * Whether each reference of a workload would resolve, with the material that came with it. Names of keys only: those that
 * the credential would hold, and those that templates use and it would not.
 */
export function dryRunSecrets(
  { secrets = [], composedSecrets = {} }: Pick<Deployment, 'secrets' | 'composedSecrets'>,
  material: readonly SecretWrite[],
  existing: Readonly<Record<string, readonly string[]>>,
) {
  const used = Object.values(composedSecrets).flatMap(template => findPlaceholders(parseTemplate(template) ?? []));
  return [...new Set(secrets.map(({ vault_path: path }) => path))].map(path => {
    const { label } = parseSecretPath(path) ?? {};
    const writes = material.filter(write => `${write.namespace}/${write.label}` === path);
    const written = writes.flatMap(({ values, generation }) => [...Object.keys(values), ...(generation?.keys ?? [])]);
    const keys = [...new Set([...(existing[path] ?? []), ...written])].sort();
    const missing = used.filter(({ resource, key }) => resource === label && !keys.includes(key)).map(({ key }) => key);
    const reason = writes.length > 0 ? 'written' : existing[path] ? 'exists' : 'secret_missing';
    const resolves = reason !== 'secret_missing' && missing.length === 0;
    return { path, resolves, reason, keys, missing: [...new Set(missing)] };
  });
}

/** Warns of the references that do not resolve: the deployment is stored, and its replicas wait for the secrets. */
export function warnUnresolved(
  spec: Pick<Deployment, 'secrets' | 'composedSecrets'>,
  material: readonly SecretWrite[],
  existing: Readonly<Record<string, readonly string[]>>,
): readonly Warning[] {
  const { secrets = [] } = spec;
  return dryRunSecrets(spec, material, existing)
    .filter(({ resolves }) => !resolves)
    .map(({ path, reason, missing }) => {
      const position = secrets.findIndex(({ vault_path }) => vault_path === path);
      const what =
        reason === 'secret_missing'
          ? `there is no secret ${path}`
          : `secret ${path} does not have the ${missing.length === 1 ? 'key' : 'keys'} ${missing.join(', ')}`;
      const message = `${what}; no container is created until PUT /api/v1/secrets/${path} has written it`;
      return { code: 'secret_missing', field: `secrets[${position}].vault_path`, message };
    });
}
