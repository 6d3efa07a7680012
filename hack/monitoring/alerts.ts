/** One alert: when it is raised, and what a person does about it. */
export interface Alert {
  readonly name: string;
  readonly expression: string;
  /** How long it must hold. */
  readonly for: string;
  readonly severity: 'critical' | 'warning';
  /** One line for a pager; may use `{{ $labels.… }}`. */
  readonly summary: string;
  readonly meaning: string;
  readonly todo: string;
  /** Series that raise it, and series that do not, as `promtool test rules` takes them: a sample a minute. */
  readonly raisedBy: Readonly<Record<string, string>>;
  readonly quietWith: Readonly<Record<string, string>>;
}

/**
 * A counter that appears with its first event has no increase yet, so one that was not there ten minutes ago counts from zero;
 * unless its process was not scraped then, and did not start since.
 */
function countNew(selector: string): string {
  const series = `mooring_events_total{${selector}}`;
  const isKnown = 'up offset 10m == 1 or time() - process_start_time_seconds < 600';
  return `sum(increase(${series}[10m])) > 0 or sum((${series} unless ${series} offset 10m) and on (job, instance) (${isKnown})) > 0`;
}

/** An event that is stored in the fifth minute, and one from long ago. */
function seriesOf(type: string) {
  const labels = 'job="mooring-controllers",instance="a"';
  const [up, series] = [`up{${labels}}`, `mooring_events_total{type="${type}",reason="x",${labels}}`];
  return { raisedBy: { [up]: '1x30', [series]: '_x5 1x20' }, quietWith: { [up]: '1x30', [series]: '3x30' } };
}

/** A process that cannot be scraped. */
function downAlert(name: string, job: string, what: string, todo: string): Alert {
  return {
    name,
    expression: `up{job="${job}"} == 0`,
    for: '1m',
    severity: 'critical',
    summary: `${what} at {{ $labels.instance }} does not answer`,
    meaning: `Prometheus could not scrape ${what} for a minute: it has ended, hangs, or cannot be reached from Prometheus.`,
    todo,
    raisedBy: { [`up{job="${job}",instance="a"}`]: '1x3 0x20' },
    quietWith: { [`up{job="${job}",instance="a"}`]: '1x30' },
  };
}

const processAlerts: readonly Alert[] = [
  downAlert(
    'MooringServerDown',
    'mooring-server',
    'the API server',
    'Run `moor doctor`. Read the log of the server; start it again. Containers go on meanwhile, and agents reconnect by themselves; nothing can be changed until it is back.',
  ),
  downAlert(
    'MooringControllersDown',
    'mooring-controllers',
    'the controllers process',
    'Read its log and start it again. While another one stands by it has taken over; otherwise nothing is placed, rolled or judged until one runs.',
  ),
  downAlert(
    'MooringAgentDown',
    'mooring-agent',
    'the agent',
    'Start `moor agent` on that machine and read its log. Its containers go on. When the machine is gone for good, `moor nodes fence <name>` has its work started elsewhere at once.',
  ),
  {
    name: 'MooringLoopWithoutLeader',
    expression: 'sum by (loop) (mooring_loop_leader) == 0',
    for: '1m',
    severity: 'critical',
    summary: 'no process leads the loop {{ $labels.loop }}',
    meaning:
      'Every controllers process that knows this loop stands by, and none leads it: what the loop decides is not decided.',
    todo: 'Run `moor doctor`: etcd must accept writes for a leader to be elected. Read the log of the controllers for this loop (`moor logs --controllers <loop>` on a development machine).',
    raisedBy: {
      'mooring_loop_leader{loop="scheduler",instance="a"}': '1x3 0x20',
      'mooring_loop_leader{loop="scheduler",instance="b"}': '0x30',
    },
    quietWith: {
      'mooring_loop_leader{loop="scheduler",instance="a"}': '1x3 0x20',
      'mooring_loop_leader{loop="scheduler",instance="b"}': '0x3 1x20',
    },
  },
  {
    name: 'MooringClockOff',
    expression: 'abs(mooring_clock_offset_seconds) >= 5',
    for: '2m',
    severity: 'warning',
    summary: 'the clock of the machine of {{ $labels.instance }} is off',
    meaning:
      'The process goes on with the time of the other processes of the control plane. When most of their clocks are off as well, what is decided by time is decided wrongly.',
    todo: 'See to the time synchronisation of that machine (`timedatectl`, `chronyc tracking`). The log of the process says by how much its clock is off.',
    raisedBy: { 'mooring_clock_offset_seconds{instance="a"}': '0x3 -86400x20' },
    quietWith: { 'mooring_clock_offset_seconds{instance="a"}': '0.4x30' },
  },
  {
    name: 'MooringAgentEngineDown',
    expression: 'mooring_agent_engine_up == 0',
    for: '1m',
    severity: 'critical',
    summary: 'the container engine of the agent at {{ $labels.instance }} does not answer',
    meaning:
      'The agent runs, and its engine does not answer its pings: the state of its containers is unknown, and none can be started or stopped.',
    todo: 'Start the engine (`systemctl status docker`), look at its disk and its log. `moor describe node <name>` shows since when.',
    raisedBy: { 'mooring_agent_engine_up{instance="a"}': '1x3 0x20' },
    quietWith: { 'mooring_agent_engine_up{instance="a"}': '1x30' },
  },
  {
    name: 'MooringAgentNotReporting',
    expression: 'time() - mooring_agent_last_heartbeat_timestamp_seconds > 60',
    for: '1m',
    severity: 'critical',
    summary: 'no server has accepted a heartbeat of the agent at {{ $labels.instance }} for a minute',
    meaning:
      'The agent runs, but the control plane does not accept its heartbeats: after `nodeFailedAfterSeconds` the node counts as failed, and its replicas are started elsewhere.',
    todo: 'Read the log of the agent: it says whether the server cannot be reached, refuses its certificate or its token, or another agent holds the node. Compare the clocks with `moor doctor`.',
    raisedBy: { 'mooring_agent_last_heartbeat_timestamp_seconds{instance="a"}': '0x30' },
    quietWith: { 'mooring_agent_last_heartbeat_timestamp_seconds{instance="a"}': '0+60x30' },
  },
];

const storeAlerts: readonly Alert[] = [
  {
    name: 'MooringStoreAlarm',
    expression: 'max(mooring_store_alarms) > 0',
    for: '0m',
    severity: 'critical',
    summary: 'etcd has raised an alarm and accepts no writes',
    meaning:
      'etcd has reached its quota (NOSPACE) or found its data damaged (CORRUPT). Reads, watches and running containers go on; nothing can be written.',
    todo: 'Follow [The alarm NOSPACE](OPERATIONS.md#the-alarm-nospace). On CORRUPT, restore the member from another one: [Backup and restore](OPERATIONS.md#backup-and-restore).',
    raisedBy: { 'mooring_store_alarms{instance="a"}': '0x3 1x20' },
    quietWith: { 'mooring_store_alarms{instance="a"}': '0x30' },
  },
  {
    name: 'MooringStoreSetBack',
    expression: 'max(mooring_store_set_back) > 0',
    for: '0m',
    severity: 'critical',
    summary: 'etcd is older than it was, and no restore was declared',
    meaning:
      'etcd was restored from a backup. Agents change nothing until that is declared: running containers go on, and nothing new is started.',
    todo: 'Look at what would go with `moor admin restore --preview`, then declare it, or restore a newer backup: [Backup and restore](OPERATIONS.md#backup-and-restore).',
    raisedBy: { 'mooring_store_set_back{instance="a"}': '0x3 1x20' },
    quietWith: { 'mooring_store_set_back{instance="a"}': '0x30' },
  },
  {
    name: 'MooringStoreNearsQuota',
    expression: 'max(mooring_store_database_bytes) / (max(mooring_store_quota_bytes) > 0) > 0.8',
    for: '10m',
    severity: 'warning',
    summary: 'etcd uses {{ $value | humanizePercentage }} of its quota',
    meaning: 'At 100 % etcd refuses every write.',
    todo: 'Defragment one member after the other: [Defragmentation](OPERATIONS.md#defragmentation). When that frees little, raise `--quota-backend-bytes` and `etcdQuotaBytes`.',
    raisedBy: { mooring_store_database_bytes: '90x30', mooring_store_quota_bytes: '100x30' },
    quietWith: { mooring_store_database_bytes: '70x30', mooring_store_quota_bytes: '100x30' },
  },
];

const workAlerts: readonly Alert[] = [
  {
    name: 'MooringRequestsFailing',
    expression:
      'sum(rate(mooring_http_requests_total{status=~"5.."}[5m])) / sum(rate(mooring_http_requests_total[5m])) > 0.05',
    for: '5m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of the requests to the API are answered with 5xx',
    meaning: 'The server cannot reach etcd, has too many requests under way, or has a defect. 500 is always a defect.',
    todo: 'Run `moor doctor`. `mooring_rejections_total` says which codes: `store_unavailable` is etcd, `server_overloaded` are limits ([Limits](OPERATIONS.md#limits-of-the-api-server)), `internal_error` is a defect whose request id is in the log.',
    raisedBy: {
      'mooring_http_requests_total{status="200",method="GET",route="/x"}': '0+60x30',
      'mooring_http_requests_total{status="503",method="GET",route="/x"}': '0+30x30',
    },
    quietWith: {
      'mooring_http_requests_total{status="200",method="GET",route="/x"}': '0+600x30',
      'mooring_http_requests_total{status="503",method="GET",route="/x"}': '0+1x30',
    },
  },
  {
    name: 'MooringRequestsSlow',
    expression: 'histogram_quantile(0.99, sum by (le) (rate(mooring_http_request_seconds_bucket[5m]))) > 1',
    for: '10m',
    severity: 'warning',
    summary: 'one request of a hundred takes longer than {{ $value | humanizeDuration }}',
    meaning: 'The API is slow: etcd is slow (its disk), or the machine is busy.',
    todo: 'Compare with `etcd_disk_wal_fsync_duration_seconds` of etcd itself, and look at the CPU of the server. [BENCHMARKS.md](BENCHMARKS.md) says what to expect.',
    raisedBy: {
      'mooring_http_request_seconds_bucket{le="1"}': '0+10x30',
      'mooring_http_request_seconds_bucket{le="2.5"}': '0+60x30',
      'mooring_http_request_seconds_bucket{le="+Inf"}': '0+60x30',
    },
    quietWith: {
      'mooring_http_request_seconds_bucket{le="1"}': '0+60x30',
      'mooring_http_request_seconds_bucket{le="2.5"}': '0+60x30',
      'mooring_http_request_seconds_bucket{le="+Inf"}': '0+60x30',
    },
  },
  {
    name: 'MooringSeatsRefused',
    expression: 'sum by (kind, scope) (rate(mooring_seats_refused_total[5m])) > 0.1',
    for: '10m',
    severity: 'warning',
    summary: '{{ $labels.kind }} are refused because of the limit of the {{ $labels.scope }}',
    meaning: 'Callers meet a limit of the server again and again.',
    todo: 'Find who it is in the log of the server, or raise the limit: [Limits](OPERATIONS.md#limits-of-the-api-server).',
    raisedBy: { 'mooring_seats_refused_total{kind="requests",scope="tenant"}': '0+60x30' },
    quietWith: { 'mooring_seats_refused_total{kind="requests",scope="tenant"}': '0+1x30' },
  },
  {
    name: 'MooringReconcileFailing',
    expression: 'sum by (loop) (rate(mooring_reconcile_retries_total[5m])) > 0.2',
    for: '10m',
    severity: 'warning',
    summary: 'the loop {{ $labels.loop }} fails again and again',
    meaning: 'Reconciles of this loop end with a fault and are tried again, with growing pauses.',
    todo: 'Read the log of the controllers for this loop: each fault is logged with its key. `moor get <kind>` shows objects whose record is unusable.',
    raisedBy: { 'mooring_reconcile_retries_total{loop="scheduler"}': '0+60x30' },
    quietWith: { 'mooring_reconcile_retries_total{loop="scheduler"}': '0+1x30' },
  },
  {
    name: 'MooringVolumeCopiesBehind',
    expression: 'max(mooring_volume_lag_seconds) > 300',
    for: '10m',
    severity: 'warning',
    summary: 'a copy of a volume shows what was there {{ $value | humanizeDuration }} ago',
    meaning:
      'A copy is not brought up to date: if the node of its primary were lost now, what was written since would be lost.',
    todo: '`moor get volumes` and `moor volumes describe <name>` (BEHIND, MESSAGE) say which and why: its node sends no heartbeats, has no room, or the way there is too slow ([Copies of volumes](OPERATIONS.md)).',
    raisedBy: { 'mooring_volume_lag_seconds{instance="a"}': '0x3 0+60x27' },
    quietWith: { 'mooring_volume_lag_seconds{instance="a"}': '30x30' },
  },
  {
    name: 'MooringQueueSlow',
    expression: 'histogram_quantile(0.95, sum by (loop, le) (rate(mooring_queue_wait_seconds_bucket[5m]))) > 5',
    for: '10m',
    severity: 'warning',
    summary: 'keys of the loop {{ $labels.loop }} wait longer than {{ $value | humanizeDuration }}',
    meaning: 'The loop gets more work than it does: what users ask for happens late.',
    todo: 'Look at the CPU of the controllers and at `mooring_reconcile_seconds` of the loop. A slow etcd slows every loop down.',
    raisedBy: {
      'mooring_queue_wait_seconds_bucket{loop="scheduler",le="5"}': '0+10x30',
      'mooring_queue_wait_seconds_bucket{loop="scheduler",le="10"}': '0+60x30',
      'mooring_queue_wait_seconds_bucket{loop="scheduler",le="+Inf"}': '0+60x30',
    },
    quietWith: {
      'mooring_queue_wait_seconds_bucket{loop="scheduler",le="5"}': '0+60x30',
      'mooring_queue_wait_seconds_bucket{loop="scheduler",le="10"}': '0+60x30',
      'mooring_queue_wait_seconds_bucket{loop="scheduler",le="+Inf"}': '0+60x30',
    },
  },
];

const eventAlerts: readonly Alert[] = [
  {
    name: 'MooringNodeFailed',
    expression: countNew('type="node.failed"'),
    for: '0m',
    severity: 'warning',
    summary: 'a node has failed within the last ten minutes',
    meaning:
      'The agent of a node has sent no heartbeats for `nodeFailedAfterSeconds`; after `nodeGraceSeconds` its replicas are started elsewhere.',
    todo: '`moor get nodes` shows which, `moor describe node <name>` since when. Start its agent, or `moor nodes fence <name>` when the machine is off.',
    ...seriesOf('node.failed'),
  },
  {
    name: 'MooringRolloutFailed',
    expression: countNew('type="deployment.rollout_failed"'),
    for: '0m',
    severity: 'warning',
    summary: 'a rollout has failed within the last ten minutes',
    meaning:
      'New containers of a deployment did not become healthy within its deadline. Unless `rollout.autoRollback` is false it goes back by itself.',
    todo: '`moor events --type deployment.rollout_failed` shows which; `moor rollout status <name>` what its container wrote last.',
    ...seriesOf('deployment.rollout_failed'),
  },
  {
    name: 'MooringResidencyViolated',
    expression: countNew('type="deployment.residency_violated"'),
    for: '0m',
    severity: 'critical',
    summary: 'a deployment runs where its residency does not allow it',
    meaning: 'The labels of a node changed, so that what runs on it is outside the countries that it names.',
    todo: '`moor events --type deployment.residency_violated` shows which and where; put the labels of the node right, or let the replica move.',
    ...seriesOf('deployment.residency_violated'),
  },
  {
    name: 'MooringVolumeDivergent',
    expression: countNew('type="volume.divergent"'),
    for: '0m',
    severity: 'warning',
    summary: 'a former primary of a volume has bytes that its successor has not',
    meaning: 'A node that was lost has come back with writes that were never copied. They are set aside, and not lost.',
    todo: '`moor events --type volume.divergent` shows which; [Volumes](OPERATIONS.md) says where they are, and how they are looked at and removed.',
    ...seriesOf('volume.divergent'),
  },
  {
    name: 'MooringRecordUnusable',
    expression: countNew('type=~".+\\\\.record_unusable"'),
    for: '0m',
    severity: 'critical',
    summary: 'a stored record cannot be worked with',
    meaning:
      'A record in etcd was damaged or written by something else. The loop passes it over; everything else goes on.',
    todo: '`moor events` shows which and why: delete the object and declare it again, or restore it from a backup.',
    ...seriesOf('node.record_unusable'),
  },
];

/** Every alert, by group. */
export const alertGroups: Readonly<Record<string, readonly Alert[]>> = {
  'mooring-processes': processAlerts,
  'mooring-store': storeAlerts,
  'mooring-work': workAlerts,
  'mooring-events': eventAlerts,
};
