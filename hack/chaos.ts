/**
 * `make chaos`: every fault of the matrix on three members and on one, then storms of random trouble until enough
 * operations have been judged. Prints a table and fails on any broken promise.
 *
 * A fault that this machine cannot have is in the table as not run, with the reason, and the last line counts such faults
 * instead of saying that every promise was kept. It is no failure: the exit code is 1 for broken promises only.
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
  measureServerCut,
  runStorm,
  runFault,
  readSharedClock,
  TEST_ETCD_ARGUMENTS,
  StoreWorkload,
  type WorkloadOutcome,
} from '../e2e/cluster/index.js';
import { measureResume } from '../e2e/history/index.js';
import { describeRun, type FaultRow, formatChaosResult, type MissedFault } from './chaos-table.js';

const setting = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const RUNS = setting('MOORING_CHAOS_RUNS', 1);
const OPERATIONS = setting('MOORING_CHAOS_OPERATIONS', 200_000);
const SEED = setting('MOORING_CHAOS_SEED', Math.floor(Date.now() / 1_000));

const ONLY = process.env['MOORING_CHAOS_ONLY'] ?? '';

/** Members of the clusters, one after the other. */
const SIZES = [3, 1] as const;
const TIMES = { quorumLostMs: 30_000, clientCutMs: 8_000 };
const RESUMED_WITHIN_MS = 5_000;
const GIVE_UP_AFTER_MS = 60_000;
const STORM_MS = 30_000;
/** Clients without a pause between operations, on a quiet cluster, are what makes most of the operations. */
const CALM_MS = 5_000;

// Members, namespaces and files are taken down when the process exits, for any reason.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    report(true);
    process.exit(130);
  });

const rows: FaultRow[] = [];
const missed: MissedFault[] = [];
const failures: string[] = [];

function measureRow(fault: string, members: number): FaultRow {
  let row = rows.find(known => known.fault === fault && known.members === members);
  if (!row) {
    row = { fault, members, runs: 0, operations: 0, unknown: 0, lost: 0, doubled: 0, others: 0, resumedAfterMs: 0 };
    rows.push(row);
  }
  row.runs++;
  return row;
}

function note(
  row: FaultRow,
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
  if (obstacle !== undefined) {
    missed.push({ fault: fault.name, members: cluster.size, because: obstacle });
    return;
  }
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

const SERVER_CUT = 'API server cut off, etcd compacted';
const SERVER_RESUMES_WITHIN_MS = 1_000;

/** What a client of the API server sees of a cut between that and etcd. */
async function runServerCuts(): Promise<void> {
  for (let run = 0; run < RUNS; run++) {
    const row = measureRow(SERVER_CUT, 1);
    const { operations, resumedAfterMs } = await measureServerCut({
      cutMs: TIMES.clientCutMs,
      giveUpAfterMs: GIVE_UP_AFTER_MS,
    });
    const outcome = { violations: [], records: [], operations, unknown: 0 };
    note(row, outcome, resumedAfterMs, SERVER_RESUMES_WITHIN_MS);
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
    note(measureRow('storm', cluster.size), outcome, measureResume(outcome.records, since));
    console.log(`seed ${seed}: ${judged} operations in all`);
  }
}

function report(isCutShort = false): void {
  console.log(formatChaosResult({ rows, missed, failures, isCutShort }));
}

/** What MOORING_CHAOS_ONLY leaves out was not run either. */
function missByChoice(names: (members: number) => readonly string[]): void {
  const because = `MOORING_CHAOS_ONLY is ${ONLY}`;
  for (const members of SIZES) for (const fault of names(members)) missed.push({ fault, members, because });
}

const listFaults = (members: number) => faults.filter(({ members: fewest }) => fewest <= members);

/** Runs `work` on a cluster of its own, of three members and then of one. */
async function onEachSize(work: (cluster: EtcdCluster) => Promise<void>): Promise<void> {
  for (const members of SIZES) {
    const cluster = await EtcdCluster.start({ members, arguments: TEST_ETCD_ARGUMENTS });
    try {
      await work(cluster);
    } finally {
      await cluster.stop();
    }
  }
}

if (ONLY === 'storms') {
  missByChoice(members => [...listFaults(members).map(({ name }) => name), ...(members === 1 ? [SERVER_CUT] : [])]);
} else {
  await onEachSize(async cluster => {
    for (const fault of listFaults(cluster.size)) {
      await runFaults(cluster, fault).catch((thrown: unknown) => {
        failures.push(`${describeRun(fault.name, cluster.size)}: ${String(thrown)}`);
      });
    }
  });
  await runServerCuts().catch((thrown: unknown) => {
    failures.push(`${describeRun(SERVER_CUT, 1)}: ${String(thrown)}`);
  });
}
if (ONLY === 'faults') missByChoice(() => ['storm']);
else
  await onEachSize(cluster =>
    runStorms(cluster, OPERATIONS / 2).catch((thrown: unknown) => {
      failures.push(`${describeRun('storm', cluster.size)}: ${String(thrown)}`);
    }),
  );
report();
process.exitCode = failures.length === 0 ? 0 : 1;
