import { expect } from 'chai';

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
    expect(versions.length, `credentials in ${name}`).to.equal(wanted.length);
    if (!wanted[0] || history.givenUp.has(owner.replica)) continue;
    const [version] = versions;
    expect(history.wasStamped(owner.replica, version), `${name} has ${version}, which was never found`).to.equal(true);
    const { live = [] } =
      history.get<{ live: readonly number[] }>(buildCredentialKey(owner.tenant, wanted[0].vault_path)) ?? {};
    if (state === 'running') expect(live, `accepted, and ${name} has ${version}`).to.include(version);
  }
}
