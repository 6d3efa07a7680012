import {
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  SecretStoreRefusedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../../pkg/secrets/index.js';

/** What a rotation waits for that the policy of the secrets store keeps out. */
export const FORBIDDEN = 'the policy of the secrets store grants it';

/** What a rotation waits for whose staged version somebody has destroyed. */
export const GONE = 'it is aborted: the staged version is no longer there';

/** What a rotation waits for after a failure of the secrets store, for people. Undefined for what nobody foresaw. */
export function hindranceIn(thrown: unknown): string | undefined {
  if (thrown instanceof SecretStoreUnavailableFault || thrown instanceof SecretOutcomeUnknownFault) {
    return 'the secrets store can be reached';
  }
  if (thrown instanceof UnreadableSecretFault) return 'what is stored of the secret can be opened';
  if (thrown instanceof SecretDocumentFault || thrown instanceof SecretStoreRefusedFault) {
    return 'it is aborted: the secrets store does not take the new version';
  }
  return undefined;
}
