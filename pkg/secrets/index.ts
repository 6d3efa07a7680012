/**
 * Secrets: where credentials are stored, and how a container gets them.
 *
 * The one idea: a value is a `Secret`, which prints as `[secret]` unless `reveal` is called, and no other type here can
 * hold a value. A deployment has references; a record has version numbers.
 *
 * `SecretStore` stores documents in versions, of which one is current and one may be pending. `EmbeddedSecretStore`
 * (`embedded/`) seals them into the platform's own etcd; `VaultSecretStore` (`vault/`) uses HashiCorp Vault or OpenBao. Both
 * pass `secret-store.contract.ts`.
 *
 * `generateDocument` generates values. `resolveSecrets` checks that everything a workload refers to can be delivered, and
 * in which versions; `readEnvironment` returns the variables, after an audit record. Both are all or nothing.
 *
 * It validates no request, decides no rotation and knows no deployment. The caller decides who may request an
 * environment, and when.
 *
 * @module
 */
export { formatVaultPath, parseCredentialPath, toCredentialPath, type CredentialPath } from './credential-path.js';
export { generateDocument, isStorable, readKeyNames, toSecretDocument } from './document.js';
export { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
export { rekeySecrets, type RekeyResult } from './embedded/rekey.js';
export { loadSecretKeyring, SecretKeyring } from './embedded/secret-keyring.js';
export {
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  SecretPreconditionFault,
  SecretStoreRefusedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from './faults.js';
export { findSecretsKeyringFile, openSecretStore } from './open-secret-store.js';
export { createRegistryCredentials, toRegistryPath } from './registry-credentials.js';
export {
  collectReferences,
  explainUnresolved,
  readEnvironment,
  resolveSecrets,
  type SecretVersions,
  type UnresolvedExplanation,
} from './resolve.js';
export { Secret } from './secret.js';
export type * from './secret-store.js';
export { toSecretState, type Versions } from './versions.js';
