import type { CredentialPath } from './credential-path.js';
import type { DestroyResult, SecretStore } from './secret-store.js';

/** Destroys a version of the credential that is there now. */
export async function destroyVersion(
  secrets: SecretStore,
  path: CredentialPath,
  version: number,
): Promise<DestroyResult> {
  const reading = await secrets.state(path);
  return secrets.destroy(path, version, { uid: reading.kind === 'found' ? reading.uid : 'none' });
}
