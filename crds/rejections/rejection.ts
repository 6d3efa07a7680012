import type { RejectionCode } from './catalogue.js';
import type { RejectionStatus } from './entry.js';

/** One step of a JSON Patch (RFC 6902). */
export type PatchStep =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move'; readonly from: string; readonly path: string };

/** One refused value. Nothing of the request has been stored. */
export interface Rejection {
  readonly code: RejectionCode;
  /** Not part of the body: the API answers the status of the first rejection. */
  readonly status: RejectionStatus;
  readonly field: string;
  readonly received: string;
  readonly expected: string;
  readonly why: string;
  /** Path of the reference page, without the base url. */
  readonly doc: string;
  /** Would mend the request, where that is certain. */
  readonly fix?: readonly PatchStep[];
}

/** At least one. */
export type Rejections = readonly [Rejection, ...Rejection[]];

/** A rejection as a client reads it. */
export type RejectionRecord = Omit<Rejection, 'status'>;

/** The body of a refused request: the first rejection, and the list of all of them. */
export interface RejectionBody extends RejectionRecord {
  readonly rejections: readonly RejectionRecord[];
}

/** What the API answers to a refused request. */
export function toRejectionAnswer(
  rejections: Rejections,
  baseUrl: string,
): { status: RejectionStatus; body: RejectionBody } {
  const records = rejections.map(rejection => recordOf(rejection, baseUrl));
  return { status: rejections[0].status, body: { ...records[0]!, rejections: records } };
}

function recordOf(rejection: Rejection, baseUrl: string): RejectionRecord {
  const { status: _status, ...record } = rejection;
  return { ...record, doc: `${baseUrl}${rejection.doc}` };
}
