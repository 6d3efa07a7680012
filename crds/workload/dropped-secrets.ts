import type { Warning } from '../rule/index.js';
import type { SecretReference } from './secrets.js';

/** Which credentials an update takes away from a workload: a list that is sent shorter drops them without any fault. */
export function warnDroppedSecrets(
  before: readonly SecretReference[] = [],
  after: readonly SecretReference[] = [],
): readonly Warning[] {
  const isKept = ({ name, vault_path: path }: SecretReference) =>
    after.some(other => other.name === name && other.vault_path === path);
  return before
    .filter(reference => !isKept(reference))
    .map(({ name, vault_path: path }) => ({
      code: 'secret_reference_dropped',
      field: 'secrets',
      message: `${name} (${path}) is no longer referred to: containers made from now on go without its variables`,
    }));
}
