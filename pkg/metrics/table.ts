/** One metric: what kind it is, what it says, and the labels it takes. */
export interface MetricRow {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds in the unit of the name, for histograms. */
  readonly buckets?: readonly number[];
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Every metric there is, beside those that prom-client collects about the process itself. */
export const metricsTable = {
  mooring_http_requests_total: {
    kind: 'counter',
    help: 'Requests answered, by route and status.',
    labels: ['method', 'route', 'status'],
  },
  mooring_http_request_seconds: {
    kind: 'histogram',
    help: 'Time from the head of a request to the end of its answer; streams are not counted.',
    labels: ['method', 'route'],
    buckets: SECONDS,
  },
  mooring_rejections_total: {
    kind: 'counter',
    help: 'Requests refused, by the code of the first rejection.',
    labels: ['code'],
  },
  mooring_streams_open: { kind: 'gauge', help: 'Long answers that are open now.', labels: ['kind'] },
  mooring_tails_cut_total: {
    kind: 'counter',
    help: 'Watches that the server ended, by reason.',
    labels: ['because'],
  },
  mooring_queue_depth: { kind: 'gauge', help: 'Keys that wait to be reconciled.', labels: ['loop'] },
  mooring_queue_wait_seconds: {
    kind: 'histogram',
    help: 'Time from the moment a key was due until its reconcile began.',
    labels: ['loop'],
    buckets: SECONDS,
  },
  mooring_reconcile_seconds: {
    kind: 'histogram',
    help: 'Time that one reconcile took, by how it ended.',
    labels: ['loop', 'result'],
    buckets: SECONDS,
  },
  mooring_reconcile_retries_total: {
    kind: 'counter',
    help: 'Reconciles that failed and will be tried again.',
    labels: ['loop'],
  },
  mooring_store_database_bytes: { kind: 'gauge', help: "Size of etcd's database.", labels: [] },
  mooring_store_quota_bytes: { kind: 'gauge', help: 'Size from which on etcd takes no more data.', labels: [] },
  mooring_store_alarms: { kind: 'gauge', help: 'Alarms that etcd has raised.', labels: [] },
  mooring_loop_leader: { kind: 'gauge', help: '1 while this process leads the loop.', labels: ['loop'] },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricsTable;
