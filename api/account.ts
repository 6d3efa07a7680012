import type { Caller } from './access/caller.js';
import type { ApiEnv } from './env.js';
import { Refused } from './refusal.js';
import type { Outcome, Route } from './route.js';

/** What is known of a request so far. */
export interface Progress {
  readonly requestId: string;
  /** Monotonic. */
  readonly startedAt: number;
  route: Route | undefined;
  caller: Caller;
  tenant: string;
}

/**
 * Counts, times and logs a request that was answered. A line of information for every change that somebody asked for;
 * reads, and the constant talk of the agents, are for those who look closer.
 */
export function account(
  { metrics, log, clock }: ApiEnv,
  method: string,
  { requestId, startedAt, route, caller, tenant }: Progress,
  { outcome, status }: { readonly outcome: Outcome; readonly status: number },
): void {
  const path = route?.path ?? 'none';
  const ms = clock.monotonic() - startedAt;
  metrics.count('mooring_http_requests_total', { method, route: path, status: String(status) });
  const isWrite = method !== 'GET' && method !== 'HEAD' && !path.startsWith('/agent/');
  const level = isWrite ? 'info' : 'debug';
  const fields = { requestId, method, route: path, status, ms: Math.round(ms * 10) / 10, tenant, token: caller.id };
  if (outcome instanceof Refused) {
    const [{ code }] = outcome.rejections;
    metrics.count('mooring_rejections_total', { code });
    log[level]('request', { ...fields, code });
    return;
  }
  if (!('body' in outcome)) {
    log[level]('stream', fields);
    return;
  }
  metrics.observe('mooring_http_request_seconds', { method, route: path }, ms / 1000);
  log[level]('request', outcome.alterations ? { ...fields, alterations: outcome.alterations } : fields);
}
