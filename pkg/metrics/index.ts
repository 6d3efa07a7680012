/**
 * Metrics of the processes, in Prometheus' text format.
 *
 * One table names every metric with its help and its labels; a label that is not in it does not compile. No label ever
 * holds a tenant, a name or an id: the number of series must not grow with the number of users.
 *
 * `createMetrics` creates an independent set; `count`, `observe` and `set` update it, `text` prints it. The processes serve it
 * over HTTP. prom-client is imported here only.
 *
 * @module
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** One metric: its kind, its help and its labels. */
export interface MetricRow {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds in the unit of the name, for histograms. */
  readonly buckets?: readonly number[];
  /** Of agents, or of agents too; all others are of the server and the controllers. */
  readonly agent?: true | 'too';
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Every metric, beside those that prom-client collects about the process itself. */
export const metricsTable = {
  mooring_http_requests_total: {
    kind: 'counter',
    help: 'HTTP requests answered, by method, route and status.',
    labels: ['method', 'route', 'status'],
  },
  mooring_http_request_seconds: {
    kind: 'histogram',
    help: 'Time from the headers of an HTTP request to the end of its response, without streams.',
    labels: ['method', 'route'],
    buckets: SECONDS,
  },
  mooring_rejections_total: {
    kind: 'counter',
    help: 'HTTP requests rejected, by the code of the first rejection.',
    labels: ['code'],
  },
  mooring_streams_open: {
    kind: 'gauge',
    help: 'Open streams (watches, logs and assignments), by kind.',
    labels: ['kind'],
  },
  mooring_seats_taken: {
    kind: 'gauge',
    help: 'Requests under way, streams and connections that are open, by the kind of seats they take.',
    labels: ['kind'],
  },
  mooring_seats_refused_total: {
    kind: 'counter',
    help: 'Requests, streams and connections refused because as many were open, by kind and by what is counted.',
    labels: ['kind', 'scope'],
  },
  mooring_request_body_bytes: { kind: 'gauge', help: 'Bytes reserved for bodies of requests under way.', labels: [] },
  mooring_tails_cut_total: { kind: 'counter', help: 'Watches that the server ended, by reason.', labels: ['because'] },
  mooring_events_total: {
    kind: 'counter',
    help: 'Events that this process has stored, by type and reason; one that is counted up counts again.',
    labels: ['type', 'reason'],
  },
  mooring_queue_depth: { kind: 'gauge', help: 'Keys in the work queue of the loop.', labels: ['loop'] },
  mooring_queue_wait_seconds: {
    kind: 'histogram',
    help: 'Time that a key was due before its reconcile began.',
    labels: ['loop'],
    buckets: SECONDS,
  },
  mooring_reconcile_seconds: {
    kind: 'histogram',
    help: 'Duration of a reconcile, by result.',
    labels: ['loop', 'result'],
    buckets: SECONDS,
  },
  mooring_reconcile_retries_total: {
    kind: 'counter',
    help: 'Reconciles that failed and are retried.',
    labels: ['loop'],
  },
  mooring_store_database_bytes: { kind: 'gauge', help: "Size of etcd's database.", labels: [] },
  mooring_store_quota_bytes: { kind: 'gauge', help: 'Size at which etcd stops accepting writes.', labels: [] },
  mooring_store_alarms: { kind: 'gauge', help: 'Alarms that etcd has raised.', labels: [] },
  mooring_store_reserved: {
    kind: 'gauge',
    help: '1 while etcd is so full that tenants can only delete.',
    labels: [],
  },
  mooring_store_defragmentations_total: {
    kind: 'counter',
    help: 'Members of etcd that were defragmented to make room, by result: done or failed.',
    labels: ['result'],
  },
  mooring_clock_offset_seconds: {
    kind: 'gauge',
    help: 'How far the clock of the process is ahead of the time that all processes of the control plane agree on.',
    labels: [],
  },
  mooring_store_set_back: {
    kind: 'gauge',
    help: '1 while etcd is known to be older than it was, and that was not declared: agents change nothing.',
    labels: [],
  },
  mooring_loop_leader: { kind: 'gauge', help: '1 while this process leads the loop.', labels: ['loop'] },
  mooring_volume_lag_seconds: {
    kind: 'gauge',
    help: 'Age of what the copy shows that is furthest behind its volume; 0: no copy that was ever complete lacks anything.',
    labels: [],
  },
  mooring_volume_incomplete_copies: {
    kind: 'gauge',
    help: 'Copies of volumes that were never complete.',
    labels: [],
  },
  mooring_trace_spans_total: {
    kind: 'counter',
    help: 'Spans of traces, by result: sent, refused by the collector, or dropped because too many waited or the process ended; of agents too.',
    labels: ['result'],
    agent: 'too',
  },
  mooring_agent_server_calls_total: {
    kind: 'counter',
    help: 'Calls of the agent to the API server, by call and by result: ok, refused or failed.',
    labels: ['call', 'result'],
    agent: true,
  },
  mooring_agent_last_heartbeat_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the API server last accepted a heartbeat, in seconds since 1970; 0: not yet.',
    labels: [],
    agent: true,
  },
  mooring_agent_engine_up: {
    kind: 'gauge',
    help: '1 while the container engine answers, 0 when it did not answer last.',
    labels: [],
    agent: true,
  },
  mooring_agent_engine_calls_total: {
    kind: 'counter',
    help: 'Calls of the agent to its container engine, by call and by result: ok or failed.',
    labels: ['call', 'result'],
    agent: true,
  },
  mooring_agent_engine_call_seconds: {
    kind: 'histogram',
    help: 'Duration of calls to the container engine, by call; pull is the time that an image takes.',
    labels: ['call'],
    buckets: [...SECONDS, 30, 60, 300],
    agent: true,
  },
  mooring_agent_containers: {
    kind: 'gauge',
    help: 'Containers of the node, by state, as listed last.',
    labels: ['state'],
    agent: true,
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

type MetricName = keyof typeof metricsTable;

type Table = typeof metricsTable;
type NamesOf<Kind extends MetricRow['kind']> = {
  [Name in MetricName]: Table[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** The labels of one metric, each with a value. */
type LabelsOf<Name extends MetricName> = Readonly<Record<Table[Name]['labels'][number], string>>;

/** One counter with its labels bound: for hot paths, where looking them up each time is measurable. */
export interface BoundCounter {
  add(): void;
}

/** One histogram with its labels bound. */
export interface BoundHistogram {
  observe(value: number): void;
}

/** A set of all metrics of the table. */
export interface Metrics {
  /** Adds one to a counter. */
  count<Name extends NamesOf<'counter'>>(name: Name, labels: LabelsOf<Name>): void;
  /** Records one measurement. */
  observe<Name extends NamesOf<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Sets a gauge. */
  set<Name extends NamesOf<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  counter<Name extends NamesOf<'counter'>>(name: Name, labels: LabelsOf<Name>): BoundCounter;
  histogram<Name extends NamesOf<'histogram'>>(name: Name, labels: LabelsOf<Name>): BoundHistogram;
  /** All metrics in Prometheus' text format. */
  text(): Promise<string>;
  /** Media type of `text`. */
  readonly contentType: string;
}

interface MetricsOptions {
  /** `false` omits the metrics of the whole process, for tests and simulations. */
  readonly processMetrics?: boolean;
  /** Only those of an agent; default: all others. */
  readonly agent?: boolean;
}

/** Creates a set. */
export function createMetrics({ processMetrics = true, agent = false }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });

  const metrics = new Map<string, Counter | Gauge | Histogram>();
  for (const [name, row] of Object.entries<MetricRow>(metricsTable)) {
    if (row.agent === 'too' || (row.agent ?? false) === agent) metrics.set(name, create(name, row, registry));
  }
  const flushes: (() => void)[] = [];
  return {
    count: (name, labels) => (metrics.get(name) as Counter).inc(labels),
    observe: (name, labels, value) => (metrics.get(name) as Histogram).observe(labels, value),
    set: (name, labels, value) => (metrics.get(name) as Gauge).set(labels, value),
    counter: (name, labels) => {
      const counter = (metrics.get(name) as Counter).labels(labels);
      let added = 0; // prom-client looks its labels up each time
      flushes.push(() => {
        if (added > 0) counter.inc(added);
        added = 0;
      });
      return {
        add: () => {
          added++;
        },
      };
    },
    histogram: (name, labels) => (metrics.get(name) as Histogram).labels(labels),
    text: () => {
      for (const flush of flushes) flush();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

function create(name: string, { kind, help, labels, buckets = [] }: MetricRow, registry: Registry) {
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'counter') return new Counter(common);
  if (kind === 'gauge') return new Gauge(common);
  return new Histogram({ ...common, buckets: [...buckets] });
}
