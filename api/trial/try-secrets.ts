import type { Deployment } from '../../crds/deployment/index.js';
import { parseSecretPath, parseTemplate, findPlaceholders } from '../../crds/grammar/index.js';
import type { SecretWrite } from '../../crds/secret/index.js';

/** Whether a reference to a credential would resolve. Names only. */
export interface TriedSecret {
  readonly path: string;
  readonly resolves: boolean;
  readonly reason: 'exists' | 'written' | 'secret_missing';
  /** Names of the keys it would hold. */
  readonly keys: readonly string[];
  /** Names of keys that templates use and that would not be there. */
  readonly missing: readonly string[];
}

/** What each reference of a workload would come to, material that came with it included. */
export function trySecrets(
  { secrets = [], composedSecrets = {} }: Pick<Deployment, 'secrets' | 'composedSecrets'>,
  material: readonly SecretWrite[],
  existing: Readonly<Record<string, readonly string[]>>,
): readonly TriedSecret[] {
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
