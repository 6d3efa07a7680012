import { reject } from '../crds/rejections/index.js';
import {
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  SecretStoreRefusedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../pkg/secrets/index.js';
import {
  ConflictFault,
  LeaseGoneFault,
  OutcomeUnknownFault,
  SecretMaterialFault,
  StoreUnavailableFault,
} from '../pkg/store/index.js';
import { Refused } from './refusal.js';

const SOON = { 'retry-after': '1' };

/** What is answered when the platform, not the request, is at fault. Undefined for what nobody foresaw. */
export function failureOf(thrown: unknown): Refused | undefined {
  if (thrown instanceof OutcomeUnknownFault || thrown instanceof SecretOutcomeUnknownFault) {
    return new Refused(reject('outcome_unknown', '', ''), SOON);
  }
  if (thrown instanceof SecretMaterialFault) return new Refused(thrown.rejection);
  if (thrown instanceof SecretDocumentFault || thrown instanceof SecretStoreRefusedFault) {
    return new Refused(reject('field_invalid', 'secrets', '', { wanted: 'material that the secrets store takes' }));
  }
  if (thrown instanceof SecretStoreUnavailableFault) {
    return new Refused(reject('secret_store_unavailable', '', ''), SOON);
  }
  if (thrown instanceof UnreadableSecretFault) return new Refused(reject('secret_unreadable', '', ''), SOON);
  const passes =
    thrown instanceof StoreUnavailableFault || thrown instanceof LeaseGoneFault || thrown instanceof ConflictFault;
  return passes ? new Refused(reject('store_unavailable', '', ''), SOON) : undefined;
}

/** What is answered to what nobody foresaw. The log has the rest. */
export const unforeseen = new Refused(reject('internal_failure', '', ''));
