import type { Span } from '../../pkg/trace/index.js';
import type { LogFields } from '../../pkg/log/index.js';
import type { BoundCounter, BoundHistogram, Metrics } from '../../pkg/metrics/index.js';
import { RequestRejection } from './reply.js';
import { anonymous, type Caller, type Route, type RouteResult, type StorageEnv } from './route.js';

/** What is known of a request so far. */
export interface RequestProgress {
  readonly requestId: string;
  readonly method: string;
  /** Monotonic. */
  readonly startedAt: number;
  /** Undefined when the request is not traced. */
  readonly span: Span | undefined;
  route: Route | undefined;
  caller: Caller;
  tenant: string;
  /** Gives back what the request holds of the server. */
  release: () => void;
  isClosed: boolean;
  /** Answered in the words of Kubernetes. */
  isKubernetes: boolean;
}

type BegunRequest = Pick<RequestProgress, 'requestId' | 'method' | 'startedAt' | 'span'>;

const releaseNothing = (): void => undefined;

/** What is known of a request that has just arrived. */
export function startRequestProgress({ requestId, method, startedAt, span }: BegunRequest): RequestProgress {
  return {
    requestId,
    method,
    startedAt,
    span,
    route: undefined,
    caller: anonymous,
    tenant: '',
    release: releaseNothing,
    isClosed: false,
    isKubernetes: false,
  };
}

/** Refusals of a caller that sends too much, or of a server that has too much to do. */
const SHED: ReadonlySet<string> = new Set(['rate_limited', 'concurrency_limited', 'server_overloaded']);

/** Whether a refusal with this code asks the client to come back later, because there is too much to do. */
export function isShed(code: string): boolean {
  return SHED.has(code);
}

/**
 * Whether a request that has a span is recorded: that of an authenticated caller that is not rate limited.
 * Otherwise any client could fill the queue of spans.
 */
export function isRecorded({ kind }: Caller, outcome?: RouteResult): boolean {
  return kind !== 'anonymous' && !(outcome instanceof RequestRejection && isShed(outcome.rejections[0].code));
}

/** Counts, times and logs what was answered. */
export class RequestLog {
  readonly #env: Pick<StorageEnv, 'log' | 'clock'> & { readonly metrics: Metrics };
  // The metrics of each route, looked up once.
  readonly #counters = new Map<string, BoundCounter>();
  readonly #histograms = new Map<string, BoundHistogram>();

  constructor(env: Pick<StorageEnv, 'log' | 'clock'> & { readonly metrics: Metrics }) {
    this.#env = env;
  }

  /** Records one answer. Writes are logged at info; reads, and the frequent requests of the agents, at debug. */
  record(
    { requestId, method, startedAt, span, route, caller, tenant }: RequestProgress,
    status: number,
    outcome: RouteResult,
  ): void {
    const { metrics, log, clock } = this.#env;
    const path = route?.path ?? 'none';
    const ms = clock.monotonic() - startedAt;
    this.#count(method, path, status);
    const isWrite = route !== undefined && method !== 'GET' && method !== 'HEAD' && !path.startsWith('/agent/');
    const shed = outcome instanceof RequestRejection && isShed(outcome.rejections[0].code);
    // A server that refuses most of what comes has no time to write it down; the metrics count it.
    const level = isWrite && !shed ? 'info' : 'debug';
    const about = (more?: LogFields): LogFields => ({
      requestId,
      method,
      route: path,
      status,
      ms: Math.round(ms * 10) / 10,
      tenant,
      token: caller.id,
      ...(span && isRecorded(caller, outcome) && { trace: span.context.traceId }),
      ...more,
    });
    if (outcome instanceof RequestRejection) {
      const [{ code }] = outcome.rejections;
      metrics.count('mooring_rejections_total', { code });
      log[level]('request', about({ code }));
    } else if ('body' in outcome) {
      this.#observe(method, path, ms);
      log[level]('request', about(outcome.alterations && { alterations: outcome.alterations }));
    } else {
      log[level]('stream', about());
    }
  }

  #count(method: string, route: string, status: number): void {
    const key = `${status}${method}${route}`;
    let counter = this.#counters.get(key);
    if (!counter) {
      counter = this.#env.metrics.counter('mooring_http_requests_total', { method, route, status: String(status) });
      this.#counters.set(key, counter);
    }
    counter.add();
  }

  #observe(method: string, route: string, ms: number): void {
    const key = method + route;
    let histogram = this.#histograms.get(key);
    if (!histogram) {
      histogram = this.#env.metrics.histogram('mooring_http_request_seconds', { method, route });
      this.#histograms.set(key, histogram);
    }
    histogram.observe(ms / 1000);
  }
}
