/**
 * Traces: what one request has caused, in which process, and how long each part took.
 *
 * One idea to hold: a span that is not recorded does not exist. Whoever may have one has `Span | undefined`, so that tracing costs
 * nothing while it is off, and for traces that are not sampled.
 *
 * ## Use
 *
 * `openTracer` gives a process its tracer, or undefined. `start` begins a span, below the `traceparent` of a caller where there is
 * one; `inSpan` does a part of the work in a span of its own. Spans are sent to a collector in the background (OTLP over HTTP), and
 * dropped where that cannot keep up.
 *
 * ## What this package leaves to others
 *
 * How the context of a request reaches the loops and the agents: by the records that they read. Attributes have no place for a
 * message or a document, and so for no secret.
 *
 * @module
 */
export { openTracer } from './open-tracer.js';
export type { SpanAttributes } from './tracer.js';
export { inSpan, Span, Tracer } from './tracer.js';
export type { SpanContext } from './traceparent.js';
export { formatTraceparent, isJoined, parseTraceparent } from './traceparent.js';
