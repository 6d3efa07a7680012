import type { RejectionRecord } from '../../crds/rejections/index.js';
import { Fault } from '../fault/index.js';

/** One reason why a request was refused. A newer server may know codes that this client does not. */
export type ClientRejection = Omit<RejectionRecord, 'code'> & { readonly code: string };

/** The request was understood and refused. `rejections` holds every reason; the first is the server's own first. */
export interface RejectionAnswer {
  readonly ok: false;
  readonly status: number;
  readonly rejections: readonly [ClientRejection, ...ClientRejection[]];
  /** When the server said how long to wait before trying again. */
  readonly retryAfterMs?: number;
}

/** What a request came to. */
export type ApiAnswer<T> = { readonly ok: true; readonly status: number; readonly value: T } | RejectionAnswer;

/** An answer whose body is still arriving. */
export type StreamAnswer = { readonly ok: true; readonly body: AsyncIterable<Buffer> } | RejectionAnswer;

/** A list, or one page of it. */
export interface ObjectList<T> {
  readonly items: readonly T[];
  /** Where a watch may begin to see everything that this list does not show. */
  readonly revision: string;
}

/** Reads a refusal out of an answer's body, or nothing when the body is not one. */
export function parseRejectionAnswer(
  status: number,
  body: unknown,
  retryAfter: string | undefined,
): RejectionAnswer | undefined {
  if (!isRejection(body)) return undefined;
  const all: unknown = (body as { readonly rejections?: unknown }).rejections;
  const rejections = Array.isArray(all) ? all.filter(isRejection) : [];
  const [first = body, ...others] = rejections;
  const seconds = Number(retryAfter);
  return {
    ok: false,
    status,
    rejections: [first, ...others],
    ...(retryAfter !== undefined && Number.isFinite(seconds) ? { retryAfterMs: seconds * 1000 } : {}),
  };
}

function isRejection(value: unknown): value is ClientRejection {
  return typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'string';
}

/** One line of a tail, as its reader gets it. */
export type WatchChange<T> =
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly cursor: string; readonly object: T }
  /** Everything up to here has been delivered. The first one ends the list of what existed at the start. */
  | { readonly type: 'bookmark'; readonly cursor: string }
  /** The server will not have this watch. Nothing follows. */
  | { readonly type: 'refused'; readonly refusal: RejectionAnswer };

/** One line of a tail, as the server sends it. */
export interface WatchLine<T> {
  readonly type: string;
  readonly cursor: string;
  readonly object: T;
}

/** No answer could be had from the server: nothing listens, the name is unknown, or time ran out. */
export class UnreachableFault extends Fault {
  readonly retriable = true;
  readonly server: string;

  constructor(server: string, options: { readonly because: string; readonly cause?: unknown }) {
    super(`${server} cannot be reached: ${options.because}`, { cause: options.cause });
    this.server = server;
  }
}

/** Something answered, but not an API server that this client understands. */
export class BrokenAnswerFault extends Fault {
  readonly retriable = false;
  readonly status: number;

  constructor(server: string, status: number, because: string) {
    super(`${server} answered ${status}, but ${because}`);
    this.status = status;
  }
}
