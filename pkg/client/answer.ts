import type { RejectionRecord } from '../../crds/rejections/index.js';

/** One reason why a request was refused. A newer server may know codes that this client does not. */
export type Rejection = Omit<RejectionRecord, 'code'> & { readonly code: string };

/** The request was understood and refused. `rejections` holds every reason; the first is the server's own first. */
export interface Refusal {
  readonly ok: false;
  readonly status: number;
  readonly rejections: readonly [Rejection, ...Rejection[]];
  /** When the server said how long to wait before trying again. */
  readonly retryAfterMs?: number;
}

/** What a request came to. */
export type Answer<T> = { readonly ok: true; readonly status: number; readonly value: T } | Refusal;

/** An answer whose body is still arriving. */
export type Exchange = { readonly ok: true; readonly body: AsyncIterable<Buffer> } | Refusal;

/** A list, or one page of it. */
export interface Listing<T> {
  readonly items: readonly T[];
  /** Where a watch may begin to see everything that this list does not show. */
  readonly revision: string;
}

/** Reads a refusal out of an answer's body, or nothing when the body is not one. */
export function refusalIn(status: number, body: unknown, retryAfter: string | undefined): Refusal | undefined {
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

function isRejection(value: unknown): value is Rejection {
  return typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'string';
}
