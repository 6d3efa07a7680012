/**
 * Secrets: where credentials are stored, and how a container gets them.
 *
 * The one idea: a value is a `Secret`, which prints as `[secret]` unless `reveal` is called, and no other type here can
 * hold a value. A deployment has references; a record has version numbers.
 *
 * ## Storing
 *
 * `SecretStore` stores documents in versions, of which one is current and one may be pending. `EmbeddedSecretStore` seals
 * them into the platform's own etcd; `VaultSecretStore` uses HashiCorp Vault or OpenBao. Both pass
 * `secret-store.contract.ts`.
 *
 * ## Generating and delivering
 *
 * `generateDocument` generates values. `resolveSecrets` checks that everything a workload refers to can be delivered, and
 * in which versions; `readEnvironment` returns the variables, after an audit record. Both are all or nothing.
 *
 * ## What this package leaves to others
 *
 * It validates no request, decides no rotation and knows no deployment. The caller decides who may request an
 * environment, and when.
 *
 * @module
 */
export type {
  CompositionResult,
  DeliveredSecret,
  IncompleteEnvironment,
  MissingMaterial,
} from './compose-environment.js';
export { composeEnvironment } from './compose-environment.js';
export type { CredentialPath } from './credential-path.js';
export { formatVaultPath, parseCredentialPath, toCredentialPath } from './credential-path.js';
export type { KeyReading } from './document.js';
export { computeEntropy, generateDocument, isStorable, readKeyNames, toSecretDocument } from './document.js';
export type { EmbeddedSecretStoreOptions } from './embedded/embedded-secret-store.js';
export { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
export type { OpenSecretStoreEnv } from './open-secret-store.js';
export { findSecretsKeyringFile, openSecretStore } from './open-secret-store.js';
export type { RekeyOptions, RekeyResult, UnreadableCredential } from './embedded/rekey.js';
export { rekeySecrets } from './embedded/rekey.js';
export { loadSecretKeyring, SecretKeyring } from './embedded/secret-keyring.js';
export {
  SecretDocumentFault,
  SecretKeyringFault,
  SecretOutcomeUnknownFault,
  SecretStoreLoginFault,
  SecretStoreRefusedFault,
  SecretStoreSealedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from './faults.js';
export { createRegistryCredentials, REGISTRIES, toRegistryLabel } from './registry-credentials.js';
export type {
  EnvironmentDelivery,
  EnvironmentOptions,
  MissingReference,
  Resolution,
  SecretReferences,
  SecretVersions,
  UnresolvedExplanation,
  UnresolvedSecrets,
} from './resolve.js';
export { collectReferences, explainUnresolved, readEnvironment, resolveSecrets } from './resolve.js';
export { Secret } from './secret.js';
export type * from './secret-store.js';
export type { VaultSecretStoreOptions } from './vault/vault-secret-store.js';
export { VaultSecretStore } from './vault/vault-secret-store.js';
export type { VaultLogin } from './vault/vault-session.js';
