import type { BoundCounter, BoundHistogram, Metrics } from '../pkg/metrics/index.js';

/** The metrics of requests, each looked up once. */
export class RouteMetrics {
  readonly #metrics: Metrics;
  readonly #counters = new Map<string, BoundCounter>();
  readonly #histograms = new Map<string, BoundHistogram>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** Counts an answer. */
  count(method: string, route: string, status: number): void {
    const key = `${status}${method}${route}`;
    let counter = this.#counters.get(key);
    if (!counter) {
      counter = this.#metrics.counter('mooring_http_requests_total', { method, route, status: String(status) });
      this.#counters.set(key, counter);
    }
    counter.add();
  }

  /** Times an answer. */
  observe(method: string, route: string, ms: number): void {
    const key = method + route;
    let histogram = this.#histograms.get(key);
    if (!histogram) {
      histogram = this.#metrics.histogram('mooring_http_request_seconds', { method, route });
      this.#histograms.set(key, histogram);
    }
    histogram.observe(ms / 1000);
  }
}
