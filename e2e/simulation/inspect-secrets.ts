import type { History } from './history.js';
import type { SimCluster } from './cluster.js';
import { buildCredentialKey } from './secrets.js';

/**
 * Must hold after every step: a container that refers to a credential has it, in a version that its replica was stamped
 * with; and one that runs has a version that is still accepted, unless it was given up with its node.
 */
export function inspectSecrets({ machines, vault }: SimCluster, history: History): void {
  for (const { id, owner, name, state } of machines.flatMap(({ engine }) => engine.containers)) {
    const wanted = history.replica(owner.replica)?.template.secrets ?? [];
    const versions = vault.versionsIn(id);
    if (versions.length !== wanted.length)
      throw new Error(`${name} has ${versions.length} credentials and refers to ${wanted.length}`);
    if (!wanted[0] || history.givenUp.has(owner.replica)) continue;
    const [version] = versions;
    if (!history.wasStamped(owner.replica, version))
      throw new Error(`${name} has version ${version}, which was never found`);
    const { live = [] } =
      history.get<{ live: readonly number[] }>(buildCredentialKey(owner.tenant, wanted[0].vault_path)) ?? {};
    if (state === 'running' && !live.includes(version!))
      throw new Error(`${name} has version ${version}, and only ${live.join()} are accepted`);
  }
}
