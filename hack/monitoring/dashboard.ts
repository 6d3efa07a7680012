interface Panel {
  readonly title: string;
  readonly about: string;
  readonly unit: 'short' | 's' | 'bytes' | 'reqps' | 'percentunit';
  readonly type: 'timeseries' | 'stat';
  /** Legend by expression. */
  readonly queries: Readonly<Record<string, string>>;
}

const quantile = (share: number, metric: string, by = '') =>
  `histogram_quantile(${share}, sum by (${by}le) (rate(${metric}_bucket[$__rate_interval])))`;
const line = (title: string, unit: Panel['unit'], about: string, queries: Panel['queries']): Panel => ({
  title,
  about,
  unit,
  type: 'timeseries',
  queries,
});
const figure = (title: string, unit: Panel['unit'], about: string, query: string): Panel => ({
  title,
  about,
  unit,
  type: 'stat',
  queries: { '': query },
});

/** The panels by row. The first row answers whether something is wrong. */
export const panelRows: Readonly<Record<string, readonly Panel[]>> = {
  'Is anything wrong?': [
    figure(
      'Processes that do not answer',
      'short',
      'Servers, controllers and agents.',
      'count(up{job=~"mooring-.*"} == 0) or vector(0)',
    ),
    figure(
      'Loops without a leader',
      'short',
      'Nothing moves there.',
      'count(sum by (loop) (mooring_loop_leader) == 0) or vector(0)',
    ),
    figure(
      'Engines that do not answer',
      'short',
      'By what their agents see.',
      'count(mooring_agent_engine_up == 0) or vector(0)',
    ),
    figure('Alarms of etcd', 'short', 'While one is raised nothing can be written.', 'max(mooring_store_alarms)'),
    figure(
      'Quota of etcd used',
      'percentunit',
      'At 100 % etcd refuses every write.',
      'max(mooring_store_database_bytes) / max(mooring_store_quota_bytes)',
    ),
    figure(
      'Requests that fail',
      'percentunit',
      'Answered with 5xx.',
      '(sum(rate(mooring_http_requests_total{status=~"5.."}[$__rate_interval])) or vector(0)) / sum(rate(mooring_http_requests_total[$__rate_interval]))',
    ),
  ],
  'API server': [
    line('Requests', 'reqps', 'By status.', {
      '{{status}}': 'sum by (status) (rate(mooring_http_requests_total[$__rate_interval]))',
    }),
    line('Time of requests', 's', 'Without streams.', {
      half: quantile(0.5, 'mooring_http_request_seconds'),
      '99 of 100': quantile(0.99, 'mooring_http_request_seconds'),
    }),
    line('Rejections', 'reqps', 'By the code of the first.', {
      '{{code}}': 'topk(10, sum by (code) (rate(mooring_rejections_total[$__rate_interval])))',
    }),
    line('Open streams', 'short', 'Watches, logs and assignments.', {
      '{{kind}}': 'sum by (kind) (mooring_streams_open)',
    }),
    line('Seats', 'short', 'What is open, by kind.', { '{{kind}}': 'sum by (kind) (mooring_seats_taken)' }),
    line('Refused for lack of seats', 'reqps', 'By kind and what is counted.', {
      '{{kind}} of a {{scope}}': 'sum by (kind, scope) (rate(mooring_seats_refused_total[$__rate_interval]))',
    }),
    line('Bodies under way', 'bytes', 'Bytes reserved.', { '{{instance}}': 'mooring_request_body_bytes' }),
    line('Watches that were cut', 'reqps', 'By reason.', {
      '{{because}}': 'sum by (because) (rate(mooring_tails_cut_total[$__rate_interval]))',
    }),
  ],
  Controllers: [
    line('Keys in the queues', 'short', 'By loop.', { '{{loop}}': 'sum by (loop) (mooring_queue_depth)' }),
    line('Wait of a key', 's', '95 of 100, by loop.', {
      '{{loop}}': quantile(0.95, 'mooring_queue_wait_seconds', 'loop, '),
    }),
    line('Time of a reconcile', 's', '95 of 100, by loop.', {
      '{{loop}}': quantile(0.95, 'mooring_reconcile_seconds', 'loop, '),
    }),
    line('Reconciles that are retried', 'reqps', 'By loop.', {
      '{{loop}}': 'sum by (loop) (rate(mooring_reconcile_retries_total[$__rate_interval]))',
    }),
    line('Events', 'reqps', 'By type.', {
      '{{type}}': 'topk(15, sum by (type) (rate(mooring_events_total[$__rate_interval])))',
    }),
    line('Copies of volumes behind', 's', 'The one that is furthest.', { '': 'max(mooring_volume_lag_seconds)' }),
    line('Copies of volumes that were never complete', 'short', 'They cannot take over.', {
      '': 'max(mooring_volume_incomplete_copies)',
    }),
    line('Database of etcd', 'bytes', 'Size of the file, and the quota.', {
      size: 'max(mooring_store_database_bytes)',
      quota: 'max(mooring_store_quota_bytes)',
    }),
  ],
  Agents: [
    line('Containers', 'short', 'By state.', { '{{state}}': 'sum by (state) (mooring_agent_containers)' }),
    line('Since the last heartbeat', 's', 'By agent.', {
      '{{instance}}': 'time() - mooring_agent_last_heartbeat_timestamp_seconds',
    }),
    line('Calls to the server', 'reqps', 'By result.', {
      '{{call}} {{result}}': 'sum by (call, result) (rate(mooring_agent_server_calls_total[$__rate_interval]))',
    }),
    line('Calls to the engine that fail', 'reqps', 'By call.', {
      '{{call}}': 'sum by (call) (rate(mooring_agent_engine_calls_total{result="failed"}[$__rate_interval]))',
    }),
    line('Time of calls to the engine', 's', '95 of 100, by call.', {
      '{{call}}': quantile(0.95, 'mooring_agent_engine_call_seconds', 'call, '),
    }),
  ],
  'The processes themselves': [
    line('Memory', 'bytes', 'Resident.', {
      '{{job}} {{instance}}': 'process_resident_memory_bytes{job=~"mooring-.*"}',
    }),
    line('CPU', 'short', 'Cores.', {
      '{{job}} {{instance}}': 'rate(process_cpu_seconds_total{job=~"mooring-.*"}[$__rate_interval])',
    }),
    line('Delay of the event loop', 's', '99 of 100.', {
      '{{job}} {{instance}}': 'nodejs_eventloop_lag_p99_seconds{job=~"mooring-.*"}',
    }),
    line('Spans of traces', 'short', 'In a second, by result; none while traces are off.', {
      '{{job}} {{result}}': 'sum by (job, result) (rate(mooring_trace_spans_total[$__rate_interval]))',
    }),
  ],
};

/** Every expression of the dashboard. */
export const dashboardExpressions: readonly string[] = Object.values(panelRows).flatMap(panels =>
  panels.flatMap(({ queries }) => Object.values(queries)),
);

const COLUMNS = 24;
const HEIGHT = { timeseries: 8, stat: 4 };
const WIDTH = { timeseries: 8, stat: 4 };

/** The dashboard as Grafana imports it. */
export function renderDashboard(): string {
  const panels: object[] = [];
  let [x, y, rowHeight] = [0, 0, 0];
  const place = (w: number, h: number) => {
    if (x + w > COLUMNS) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const at = { x, y, w, h };
    [x, rowHeight] = [x + w, Math.max(rowHeight, h)];
    return at;
  };
  for (const [title, row] of Object.entries(panelRows)) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: place(COLUMNS, 1),
      panels: [],
    });
    for (const panel of row) {
      const gridPos = place(WIDTH[panel.type], HEIGHT[panel.type]);
      panels.push({ id: panels.length + 1, gridPos, ...renderPanel(panel) });
    }
    [x, y, rowHeight] = [0, y + rowHeight, 0];
  }
  const source = { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' };
  return `${JSON.stringify(
    {
      title: 'Mooring',
      uid: 'mooring',
      tags: ['mooring'],
      schemaVersion: 36,
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      templating: { list: [source] },
      panels,
    },
    null,
    2,
  )}\n`;
}

function renderPanel({ title, about, unit, type, queries }: Panel): object {
  const datasource = { type: 'prometheus', uid: '${datasource}' };
  const targets = Object.entries(queries).map(([legendFormat, expr], at) => ({
    refId: String.fromCharCode(65 + at),
    datasource,
    expr,
    legendFormat,
  }));
  return {
    type,
    title,
    description: about,
    datasource,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets,
  };
}
