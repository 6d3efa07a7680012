import { reject, type Rejection, type Rejections, toRejectionAnswer } from '../../crds/rejections/index.js';
import {
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  SecretStoreRefusedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../../pkg/secrets/index.js';
import {
  ConflictFault,
  LeaseGoneFault,
  OutcomeUnknownFault,
  SecretMaterialFault,
  StoreUnavailableFault,
} from '../../pkg/store/index.js';
import { type Headers, replyJson, type WholeReply } from './reply.js';

/** A request that is not carried out, with every reason. It is a value that callers return, and is never thrown. */
export class RequestRejection {
  readonly rejections: Rejections;
  readonly headers: Headers;

  constructor(rejections: Rejection | Rejections, headers: Headers = {}) {
    this.rejections = 'code' in rejections ? [rejections] : rejections;
    this.headers = headers;
  }
}

/** Tells the client to retry. */
const SOON: Headers = { 'retry-after': '1' };

/** The answer to a refused request: the first rejection, and the list of all. */
export function toRejectionReply({ rejections, headers }: RequestRejection, baseUrl: string): WholeReply {
  const { status, body } = toRejectionAnswer(rejections, baseUrl);
  return replyJson(status, body, status === 503 ? { ...SOON, ...headers } : headers);
}

/** The answer to a failure of the platform. Undefined for an unexpected error. */
export function toPlatformFailure(thrown: unknown): RequestRejection | undefined {
  if (thrown instanceof OutcomeUnknownFault || thrown instanceof SecretOutcomeUnknownFault) {
    return new RequestRejection(reject('outcome_unknown', '', ''), SOON);
  }
  if (thrown instanceof SecretMaterialFault) return new RequestRejection(thrown.rejection);
  if (thrown instanceof SecretDocumentFault || thrown instanceof SecretStoreRefusedFault) {
    return new RequestRejection(
      reject('field_invalid', 'secrets', '', { wanted: 'material that the secrets store takes' }),
    );
  }
  if (thrown instanceof SecretStoreUnavailableFault) {
    return new RequestRejection(reject('secret_store_unavailable', '', ''), SOON);
  }
  if (thrown instanceof UnreadableSecretFault) return new RequestRejection(reject('secret_unreadable', '', ''), SOON);
  const passes =
    thrown instanceof StoreUnavailableFault || thrown instanceof LeaseGoneFault || thrown instanceof ConflictFault;
  return passes ? new RequestRejection(reject('store_unavailable', '', ''), SOON) : undefined;
}

/** The answer to an unexpected error; the details are in the log. */
export const internalFailure = new RequestRejection(reject('internal_failure', '', ''));
