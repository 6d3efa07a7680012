/** Where a span stands in a trace. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether spans of the trace are recorded. */
  readonly isSampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** A later version may be longer, but there is no reason to send a page. */
const LONGEST = 512;
const SAMPLED = 1;

/**
 * Reads a `traceparent` of W3C Trace Context. Undefined for all that is not one, also for two of them, which Node joins:
 * who sends such a thing starts a new trace, as if nothing had been sent.
 */
export function parseTraceparent(text: unknown): SpanContext | undefined {
  if (typeof text !== 'string' || text.length > LONGEST) return undefined;
  const [, version, traceId, spanId, flags, more] = FORM.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** Writes the `traceparent` of a span. */
export function formatTraceparent({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

function isZero(hex: string): boolean {
  return /^0+$/.test(hex);
}

/** How long after a request what is done about its object belongs to its trace: later, something else has caused it. */
const JOINED_MS = 3_600_000;

/** Whether what happens now may still be part of the trace of a request that was accepted at `acceptedAt`. */
export function isJoined(acceptedAt: string, now: number): boolean {
  return now - Date.parse(acceptedAt) <= JOINED_MS;
}
