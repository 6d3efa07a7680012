import type { ServerResponse } from 'node:http';

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
 * nobody is there to read it, or nobody wants more than the head.
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

/** Answers a write: bytes that are JSON already, and for the log what the server changed in what was sent. */
export function replyWritten(
  status: number,
  body: Buffer,
  headers: Headers,
  alterations: NonNullable<WholeReply['alterations']>,
): WholeReply {
  return { status, body, type: JSON_TYPE, headers, alterations };
}

/** `ETag` of an object that was last changed at this revision. */
export function etagHeader(revision: number): Headers {
  return { etag: formatEtag(revision) };
}

/** The same, without the header's name. */
export function formatEtag(revision: number): string {
  return `"${revision}"`;
}
