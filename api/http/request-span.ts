import type { IncomingMessage } from 'node:http';

import { parseTraceparent, type Span, type Tracer } from '../../pkg/trace/index.js';
import { RequestRejection } from './reply.js';
import { isRecorded, type RequestProgress } from './request-log.js';
import type { RouteResult } from './route.js';

const TRACED = ['/api/', '/k8s/'];

/**
 * The span of a request. What agents, probes and pages ask for all day begins no trace, but continues one.
 */
export function startRequestSpan(
  tracer: Tracer,
  { method = 'GET', url = '/', headers }: IncomingMessage,
): Span | undefined {
  const parent = parseTraceparent(headers['traceparent']);
  if (!parent && !TRACED.some(prefix => url.startsWith(prefix))) return undefined;
  return tracer.start(method, 'server', parent);
}

/** Ends the span of a request whose caller has gone. */
export function abandonRequestSpan({ span, caller }: RequestProgress): void {
  if (isRecorded(caller)) span?.end({ isFailed: true });
}

/** Ends the span of a request with what was answered; of a stream, with its beginning. */
export function endRequestSpan(
  { span, caller, requestId, method, route, tenant }: RequestProgress,
  status: number,
  outcome: RouteResult,
): void {
  if (!span || !isRecorded(caller, outcome)) return;
  const code = outcome instanceof RequestRejection ? outcome.rejections[0].code : undefined;
  const isFailed = status >= 500;
  span.set({
    'http.request.method': method,
    'http.response.status_code': status,
    'mooring.request': requestId,
    ...(route && { 'http.route': route.path }),
    ...(tenant !== '' && { 'mooring.tenant': tenant }),
    ...(code !== undefined && { 'mooring.rejection': code }),
    ...(isFailed && { 'error.type': code ?? String(status) }),
  });
  span.end({ name: route ? `${method} ${route.path}` : method, isFailed });
}
