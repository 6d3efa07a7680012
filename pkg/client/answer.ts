import type { RejectionRecord } from '../../crds/rejections/index.js';
import { Fault } from '../fault/index.js';

/** One reason why a request was refused. A newer server may know codes that this client does not. */
export type ClientRejection = Omit<RejectionRecord, 'code'> & { readonly code: string };

/** The request was understood and refused. `rejections` holds every reason; the first is the server's own first. */
export interface RejectionAnswer {
  readonly ok: false;
  readonly status: number;
  readonly rejections: readonly [ClientRejection, ...ClientRejection[]];
  /** From `Retry-After`. */
  readonly retryAfterMs?: number;
}

/** The result of a request. */
export type ApiAnswer<T> = { readonly ok: true; readonly status: number; readonly value: T } | RejectionAnswer;

/** An answer whose body is still arriving. */
export type StreamAnswer = { readonly ok: true; readonly body: AsyncIterable<Buffer> } | RejectionAnswer;

/** A list, or one page of it. */
export interface ObjectList<T> {
  readonly items: readonly T[];
  /** A watch from this revision shows every change after the list. */
  readonly revision: string;
}

/** Parses the body of an answer as a refusal. Undefined when it is none. */
export function parseRejectionAnswer(
  status: number,
  body: unknown,
  retryAfter: string | undefined,
): RejectionAnswer | undefined {
  if (!isRejection(body)) return undefined;
  const all: unknown = (body as { readonly rejections?: unknown }).rejections;
  const [first = body, ...others] = Array.isArray(all) ? all.filter(isRejection) : [];
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

/** One change of a watch, as its reader gets it. */
export type WatchChange<T> =
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly cursor: string; readonly object: T }
  /** Everything up to here has been delivered. The first one ends the list of what existed at the start. */
  | { readonly type: 'bookmark'; readonly cursor: string }
  /** The server refuses this watch. Nothing follows. */
  | { readonly type: 'refused'; readonly refusal: RejectionAnswer };

/** One line of a watch, as the server sends it. */
export interface WatchLine<T> {
  readonly type: string;
  readonly cursor: string;
  readonly object: T;
}

/** A name that stands for another place in a path: the request would be about something else. */
export class DotSegmentFault extends Fault {
  readonly retriable = false;

  constructor(segment: string) {
    super(`"${segment}" is the name of no object: name the object itself`);
  }
}

/** The server did not answer: nothing listens, the name is unknown, or the connection failed or timed out. */
export class UnreachableFault extends Fault {
  readonly retriable = true;

  constructor(server: string, because: string, cause?: unknown) {
    super(`${server} cannot be reached: ${because}`, { cause });
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
