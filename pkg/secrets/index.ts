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
 * ## What this package leaves to others
 *
 * It judges no request, decides no rotation and knows no deployment. Who may ask for an environment, and when, is
 * decided by those who call it.
 *
 * @module
 */
export type { CredentialPath } from './credential-path.js';
export { credentialPath, parseCredentialPath, vaultPathOf } from './credential-path.js';
export type { DocumentLimits, KeyReading } from './document.js';
export { documentLimits, documentOf, keysOf } from './document.js';
export type { EmbeddedSecretStoreOptions } from './embedded/embedded-secret-store.js';
export { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
export { loadSecretKeyring, openSecretKeyring, SecretKeyring } from './embedded/secret-keyring.js';
export {
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  SecretStoreLoginFault,
  SecretStoreRefusedFault,
  SecretStoreSealedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from './faults.js';
export { Secret } from './secret.js';
export type * from './secret-store.js';
