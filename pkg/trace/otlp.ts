import type { FinishedSpan, SpanKind } from './tracer.js';

/** What sends spans: one process of Mooring. */
export interface TraceResource {
  /** As `mooring-server`. */
  readonly service: string;
  readonly version: string;
  /** Distinguishes the process from others of the service. */
  readonly instance: string;
}

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2 };
const FAILED = 2;

/** The body of an `ExportTraceServiceRequest` of OTLP in its JSON form: ids in hexadecimal, 64-bit numbers as texts. */
export function encodeSpans({ service, version, instance }: TraceResource, spans: readonly FinishedSpan[]): string {
  const resource = { 'service.name': service, 'service.version': version, 'service.instance.id': instance };
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope: { name: 'mooring', version }, spans: spans.map(encodeSpan) }],
      },
    ],
  });
}

function encodeSpan({ name, kind, context, parentId, startedAt, endedAt, attributes, isFailed }: FinishedSpan) {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: `${startedAt}000`,
    endTimeUnixNano: `${endedAt}000`,
    attributes: encodeAttributes(attributes),
    status: isFailed ? { code: FAILED } : {},
  };
}

function encodeAttributes(attributes: object) {
  return Object.entries(attributes).map(([key, value]: [string, string | number]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}
