import { type FieldPath, formatCount } from '../grammar/index.js';
import { getEntry, type ParamsOf, type RejectionCode } from './catalogue.js';
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
  /** Makes the request acceptable; present only where that is certain. */
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
  const records = rejections.map(rejection => toRecord(rejection, baseUrl));
  return { status: rejections[0].status, body: { ...records[0]!, rejections: records } };
}

function toRecord(rejection: Rejection, baseUrl: string): RejectionRecord {
  const { status: _status, ...record } = rejection;
  return { ...record, doc: `${baseUrl}${rejection.doc}` };
}

/** Longest `received`. */
const QUOTED_MAX = 256;

/** The value as a client sent it: itself when it is a string, else its JSON; never longer than 256 characters. */
export function quoteValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  return cut(typeof value === 'string' ? value : json(value, QUOTED_MAX + 1));
}

/** What kind of value it is and how large, for values that may be credentials. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return `[redacted, string of ${formatCount(Buffer.byteLength(value), 'byte')}]`;
  if (Array.isArray(value)) return `[redacted, list of ${countEntries(value)}]`;
  if (typeof value === 'object') return `[redacted, object of ${countEntries(Object.keys(value))}]`;
  return `[redacted, ${typeof value}]`;
}

function countEntries({ length }: readonly unknown[]): string {
  return formatCount(length, 'entry', 'entries');
}

function cut(text: string): string {
  if (text.length <= QUOTED_MAX) return text;
  const end = isHighSurrogate(text.charCodeAt(QUOTED_MAX - 2)) ? QUOTED_MAX - 2 : QUOTED_MAX - 1;
  return `${text.slice(0, end)}…`;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** The beginning of a value's JSON. Stops when it has enough, so that neither size nor depth of the value matter. */
function json(value: unknown, budget: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, budget));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';

  const isList = Array.isArray(value);
  const entries: Iterable<[unknown, unknown]> = isList ? value.entries() : Object.entries(value);
  let text = isList ? '[' : '{';
  for (const [key, part] of entries) {
    if (text.length > budget) return text;
    if (text.length > 1) text += ',';
    if (!isList) text += `${json(key, budget - text.length)}:`;
    text += json(part, Math.max(budget - text.length, 0));
  }
  return text + (isList ? ']' : '}');
}

/** Builds the record for one refused value. The only place that writes one. */
export function reject<Code extends RejectionCode>(
  code: Code,
  at: FieldPath | string,
  received: unknown,
  ...params: ParamsOf<Code>
): Rejection {
  const { status, expected, why, echo } = getEntry(code);
  const given = (params as readonly unknown[])[0];
  return {
    code,
    status: typeof status === 'function' ? status(given) : status,
    field: at.toString(),
    received: echo === 'never' ? describeValue(received) : quoteValue(received),
    expected: typeof expected === 'function' ? expected(given) : expected,
    why,
    doc: `/docs/codes/${code}`,
  };
}

/** The same rejection with its value described, not quoted: the value may be a credential. */
export function redactReceived(rejection: Rejection, received: unknown): Rejection {
  return { ...rejection, received: describeValue(received) };
}

/** The same rejection with the patch that makes the request acceptable. */
export function withFix(rejection: Rejection, ...fix: readonly PatchStep[]): Rejection {
  return { ...rejection, fix };
}
