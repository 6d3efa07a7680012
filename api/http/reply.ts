import type { ServerResponse } from 'node:http';

import {
  reject,
  type Rejection,
  type RejectionCode,
  type Rejections,
  toRejectionAnswer,
} from '../../crds/rejections/index.js';
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
  MAX_REQUEST_BYTES,
  SecretMaterialFault,
  StoreTooLargeFault,
  StoreUnavailableFault,
} from '../../pkg/store/index.js';

/** Header names and values, beside those that every answer carries. */
export type Headers = Readonly<Record<string, string>>;

/** An answer that is known in full. Several buffers are sent one after the other, without being copied together. */
export interface WholeReply {
  readonly status: number;
  readonly body: Buffer | readonly Buffer[];
  readonly type: string;
  readonly headers?: Headers;
  /** What the server stored beside what was sent: for the log, as the body has it already. */
  readonly alterations?: readonly { readonly field: string; readonly why: string }[];
}

/**
 * An answer that goes on for as long as both sides stay. `open` is called after the head was sent; or `abandon` when
 * the client has disconnected, or wants only the head.
 */
export interface StreamReply {
  readonly status: number;
  readonly type: string;
  readonly headers?: Headers;
  readonly open: (out: ServerResponse) => void;
  /** Releases what the reply holds. */
  readonly abandon?: () => void;
}

export type Reply = WholeReply | StreamReply;

export const JSON_TYPE = 'application/json; charset=utf-8';
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8';
export const SSE_TYPE = 'text/event-stream; charset=utf-8';

/** Answers a value as JSON. */
export function replyJson(status: number, value: unknown, headers?: Headers): WholeReply {
  return replyJsonBytes(status, Buffer.from(JSON.stringify(value)), headers);
}

/** Answers bytes that are JSON already. */
export function replyJsonBytes(status: number, body: Buffer | readonly Buffer[], headers?: Headers): WholeReply {
  return headers ? { status, body, type: JSON_TYPE, headers } : { status, body, type: JSON_TYPE };
}

/** `ETag` of an object that was last changed at this revision. */
export function buildEtagHeader(revision: number): Headers {
  return { etag: `"${revision}"` };
}

/** A request that is not carried out, with every reason. It is a value that callers return, and is never thrown. */
export class RequestRejection {
  readonly rejections: Rejections;
  readonly headers: Headers;

  constructor(rejections: Rejection | Rejections, headers: Headers = {}) {
    this.rejections = 'code' in rejections ? [rejections] : rejections;
    this.headers = headers;
  }
}

/** Rejects a request for one reason. */
export function rejectRequest<Code extends RejectionCode>(
  ...reason: Parameters<typeof reject<Code>>
): RequestRejection {
  return new RequestRejection(reject(...reason));
}

/** Asks the client to retry. */
const SOON: Headers = { 'retry-after': '1' };

/** The answer to a refused request: the first rejection, and the list of all. */
export function toRejectionReply({ rejections, headers }: RequestRejection, baseUrl: string): WholeReply {
  const { status, body } = toRejectionAnswer(rejections, baseUrl);
  return replyJson(status, body, status === 503 ? { ...SOON, ...headers } : headers);
}

const FAILURES = [
  [OutcomeUnknownFault, 'outcome_unknown'],
  [SecretOutcomeUnknownFault, 'outcome_unknown'],
  [SecretStoreUnavailableFault, 'secret_store_unavailable'],
  [UnreadableSecretFault, 'secret_unreadable'],
  [StoreUnavailableFault, 'store_unavailable'],
  [LeaseGoneFault, 'store_unavailable'],
  [ConflictFault, 'store_unavailable'],
] as const;

/** The answer to a failure of the platform. Undefined for an unexpected error. */
export function toPlatformFailure(thrown: unknown): RequestRejection | undefined {
  if (thrown instanceof SecretMaterialFault) return new RequestRejection(thrown.rejection);
  if (thrown instanceof SecretDocumentFault || thrown instanceof SecretStoreRefusedFault) {
    return rejectRequest('field_invalid', 'secrets', '', { wanted: 'material that the secrets store takes' });
  }
  if (thrown instanceof StoreTooLargeFault) {
    return rejectRequest('document_too_large', 'body', 'more than the database takes', { max: MAX_REQUEST_BYTES });
  }
  const [, code] = FAILURES.find(([fault]) => thrown instanceof fault) ?? [];
  return code && new RequestRejection(reject(code, 'request', ''), SOON);
}

/** The answer to an unexpected error; the details are in the log. */
export const internalFailure = rejectRequest('internal_failure', 'request', '');
