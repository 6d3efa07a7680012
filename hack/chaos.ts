/**
 * `make chaos`: every fault of the matrix on three members and on one, then storms of random trouble until enough
 * operations have been judged. Prints a table and fails on any broken promise.
 *
 * MOORING_CHAOS_RUNS: how often each fault is run (1). MOORING_CHAOS_OPERATIONS: how many operations of storms are judged
 * at least (200000). MOORING_CHAOS_SEED: the first seed of the storms (by the clock). MOORING_CHAOS_ONLY: `faults` or
 * `storms`. MOORING_ETCD_BIN: another etcd.
 */
import {
  EtcdCluster,
  type ClusterFault,
  faults,
  findObstacle,
  runStorm,
  runFault,
  readSharedClock,
  TEST_ETCD_ARGUMENTS,
  StoreWorkload,
  type WorkloadOutcome,
} from '../e2e/cluster/index.js';

/** The results of all runs of a fault. */
interface Row {
  readonly fault: string;
  readonly members: number;
  runs: number;
  operations: number;
  unknown: number;
  lost: number;
  doubled: number;
  /** Of the other promises: refused, linearizable, fenced, tails, leases. */
  others: number;
  /** The longest. */
  resumedAfterMs: number;
}

const setting = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const RUNS = setting('MOORING_CHAOS_RUNS', 1);
const OPERATIONS = setting('MOORING_CHAOS_OPERATIONS', 200_000);
const SEED = setting('MOORING_CHAOS_SEED', Math.floor(Date.now() / 1_000));

const ONLY = process.env['MOORING_CHAOS_ONLY'] ?? '';

const TIMES = { quorumLostMs: 30_000, clientCutMs: 8_000 };
const RESUMED_WITHIN_MS = 5_000;
const GIVE_UP_AFTER_MS = 60_000;
const STORM_MS = 30_000;
/** Clients without a pause between operations, on a quiet cluster, are what makes most of the operations. */
const CALM_MS = 5_000;

// Members, namespaces and files are taken down when the process exits, for any reason.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    report();
    console.log('ended before it was finished');
    process.exit(130);
  });

const rows: Row[] = [];
const failures: string[] = [];

function measureRow(fault: string, members: number): Row {
  let row = rows.find(known => known.fault === fault && known.members === members);
  if (!row) {
    row = { fault, members, runs: 0, operations: 0, unknown: 0, lost: 0, doubled: 0, others: 0, resumedAfterMs: 0 };
    rows.push(row);
  }
  row.runs++;
  return row;
}

function describeRun(fault: string, members: number): string {
  return `${fault} on ${members} member${members === 1 ? '' : 's'}`;
}

function note(
  row: Row,
  { violations, operations, unknown }: WorkloadOutcome,
  resumedAfterMs: number,
  resumeWithinMs = RESUMED_WITHIN_MS,
): void {
  const count = (promise: string) => violations.filter(violation => violation.promise === promise).length;
  row.operations += operations;
  row.unknown += unknown;
  row.lost += count('nothing lost');
  row.doubled += count('nothing doubled');
  row.others += violations.length - count('nothing lost') - count('nothing doubled');
  row.resumedAfterMs = Math.max(row.resumedAfterMs, resumedAfterMs);
  const where = describeRun(row.fault, row.members);
  const seconds = (resumedAfterMs / 1_000).toFixed(1);
  console.log(`${where}: ${operations} operations, ${violations.length} broken promises, resumed after ${seconds} s`);
  for (const { promise, because } of violations) failures.push(`${where}: ${promise}: ${because}`);
  if (resumedAfterMs > resumeWithinMs) failures.push(`${where}: service resumed after ${seconds} s`);
}

async function runFaults(cluster: EtcdCluster, fault: ClusterFault): Promise<void> {
  const obstacle = findObstacle(fault);
  if (obstacle !== undefined) return console.log(`skipped: ${fault.name} (${obstacle})`);
  for (let run = 0; run < RUNS; run++) {
    const row = measureRow(fault.name, cluster.size);
    const options = { times: TIMES, resumeWithinMs: GIVE_UP_AFTER_MS, calmMs: 2_000, separate: true, pauseMs: 0 };
    const result = await runFault(cluster, fault, options);
    note(row, result, result.resumedAfterMs, fault.resumeWithinMs);
    if (result.leasesFailed === 0) continue;
    row.others++;
    failures.push(`${describeRun(fault.name, cluster.size)}: ${result.leasesFailed} leases were not given`);
  }
}

/** Storms, each with fresh clients, until so many operations have been judged. */
async function runStorms(cluster: EtcdCluster, operations: number): Promise<void> {
  for (let [seed, judged] = [SEED, 0]; judged < operations; seed++) {
    const workload = await StoreWorkload.start(cluster, { separate: true, workers: 64, pauseMs: 0 });
    await runStorm(workload, { seed, ms: STORM_MS });
    const since = readSharedClock();
    await workload.untilResumed(since, GIVE_UP_AFTER_MS);
    await new Promise(resolve => setTimeout(resolve, CALM_MS));
    const outcome = await workload.judge();
    judged += outcome.operations;
    note(measureRow('storm', cluster.size), outcome, outcome.measureResume(since));
    console.log(`seed ${seed}: ${judged} operations in all`);
  }
}

function report(): void {
  const head = ['fault', 'members', 'runs', 'operations', 'unknown', 'lost', 'doubled', 'others', 'resumed after'];
  const lines = rows.map(row => [
    row.fault,
    ...[row.members, row.runs, row.operations, row.unknown, row.lost, row.doubled, row.others].map(String),
    `${(row.resumedAfterMs / 1_000).toFixed(1)} s`,
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...lines.map(line => line[column]!.length)));
  for (const line of [head, ...lines]) {
    const cells = line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)));
    console.log(cells.join('  '));
  }
  console.log('');
  for (const failure of failures.slice(0, 50)) console.log(`BROKEN ${failure}`);
  console.log(failures.length === 0 ? 'every promise was kept' : `${failures.length} broken promises`);
}

/** Runs `work` on a cluster of its own, of three members and then of one. */
async function onEachSize(work: (cluster: EtcdCluster) => Promise<void>): Promise<void> {
  for (const members of [3, 1]) {
    const cluster = await EtcdCluster.start({ members, arguments: TEST_ETCD_ARGUMENTS });
    try {
      await work(cluster);
    } finally {
      await cluster.stop();
    }
  }
}

if (ONLY !== 'storms')
  await onEachSize(async cluster => {
    for (const fault of faults.filter(({ members: fewest }) => fewest <= cluster.size)) {
      await runFaults(cluster, fault).catch((thrown: unknown) => {
        failures.push(`${describeRun(fault.name, cluster.size)}: ${String(thrown)}`);
      });
    }
  });
if (ONLY !== 'faults')
  await onEachSize(cluster =>
    runStorms(cluster, OPERATIONS / 2).catch((thrown: unknown) => {
      failures.push(`${describeRun('storm', cluster.size)}: ${String(thrown)}`);
    }),
  );
report();
process.exitCode = failures.length === 0 ? 0 : 1;
