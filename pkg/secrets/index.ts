/**
 * Secrets: where credentials are kept, and how a container gets them.
 *
 * One idea to hold: a value is a `Secret`, which shows itself to nobody who does not call `reveal`, and no other type
 * here can hold one. A deployment has references; a record has version numbers.
 *
 * ## Keeping
 *
 * `SecretStore` keeps documents in versions, of which one is current and one may be pending. `EmbeddedSecretStore` seals
 * them into the platform's own store; `VaultSecretStore` leaves them to HashiCorp Vault or OpenBao. Both pass
 * `secret-store.contract.ts`.
 *
 * ## Making and delivering
 *
 * `generateDocument` makes new material. `resolveSecrets` says whether all that a workload refers to can be had, and in
 * which versions; `environmentFor` gives the variables themselves, once audited. Both fail as a whole or not at all.
 *
 * ## What this package leaves to others
 *
 * It judges no request, decides no rotation and knows no deployment. Who may ask for an environment, and when, is
 * decided by those who call it.
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
