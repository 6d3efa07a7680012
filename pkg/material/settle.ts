import { failpoint } from '../failpoint/index.js';
import { type CredentialPath, credentialPath, type SecretState, type SecretStore } from '../secrets/index.js';
import type { Store } from '../store/index.js';
import type { IntentWrite } from './intent.js';
import type { Staged } from './stage.js';

/** The two stores that are kept in step. */
export interface MaterialEnv {
  readonly store: Store;
  readonly secrets: SecretStore;
}

/** Makes staged versions current, after their record was stored at `revision`, and forgets the intent. */
export async function settle(env: MaterialEnv, staged: Staged, revision: number): Promise<void> {
  const { tenant, writes } = staged.intent;
  await promoteAll(env.secrets, tenant, writes);
  failpoint('material.promoted');
  await forget(env.store, staged.key, revision);
  failpoint('material.settled');
}

/** Destroys exactly the versions that were staged and are ours, and forgets the intent. */
export async function undo(
  env: MaterialEnv,
  { key, revision, intent }: Staged,
  writes: readonly IntentWrite[] = intent.writes,
): Promise<void> {
  failpoint('material.undoing');
  await destroyAll(env.secrets, intent.tenant, writes);
  failpoint('material.undone');
  await forget(env.store, key, revision);
}

/** Makes versions current; never one that is older than the current one, which came later. */
export async function promoteAll(secrets: SecretStore, tenant: string, writes: readonly IntentWrite[]): Promise<void> {
  await Promise.all(
    writes.map(async ({ path: text, version }) => {
      const path = credentialPath(tenant, text);
      const { current = 0 } = (await stateOf(secrets, path)) ?? {};
      if (current < version) await secrets.promote(path, version);
    }),
  );
}

/** Destroys versions. */
export async function destroyAll(secrets: SecretStore, tenant: string, writes: readonly IntentWrite[]): Promise<void> {
  await Promise.all(writes.map(({ path, version }) => secrets.destroy(credentialPath(tenant, path), version)));
}

/** Which versions a credential has, if it has any. */
export async function stateOf(secrets: SecretStore, path: CredentialPath): Promise<SecretState | undefined> {
  const reading = await secrets.state(path);
  return reading.kind === 'found' ? reading.state : undefined;
}

async function forget(store: Store, key: string, revision: number): Promise<void> {
  await store.commit({ guards: [{ key, at: revision }], puts: [], deletes: [key] });
}
