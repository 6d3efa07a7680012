/**
 * `make churn`: deployments come, change and go and nodes are lost, on a real etcd, server and controllers and on agents with
 * simulated engines. Prints the resident memory of every process and the size of etcd over time, and fails when a process has
 * grown.
 *
 * MOORING_CHURN_MINUTES: how long (30; 0 leaves it out). MOORING_CHURN_RATE: writes a second (10). MOORING_CHURN_DEPLOYMENTS: how many
 * deployments are then created and deleted for the size of etcd (10000; 0 leaves it out).
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { until } from '../dev/testing/index.js';
import { inLanes } from '../e2e/lab/apply-time.js';
import { Child } from '../e2e/lab/child.js';
import { ControlPlane } from '../e2e/lab/control-plane.js';
import { requestJoinToken, TenantClient, unwrap, untilNodeReady } from '../e2e/lab/tenant-client.js';
import { type Clock, sleep, systemClock } from '../pkg/clock/index.js';
import { readProcessMemory } from './bench/memory.js';
import { judgeGrowth, type MemorySample } from './churn/growth.js';

const setting = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const MINUTES = setting('MOORING_CHURN_MINUTES', 30);
const RATE = setting('MOORING_CHURN_RATE', 10);
const DEPLOYMENTS = setting('MOORING_CHURN_DEPLOYMENTS', 10_000);

/** A file that does not shrink: it is judged after it was defragmented. */
const DATABASE = 'database';
const NODES = ['n1', 'n2', 'n3'];
const LIVE = 20;
/** Memory must have settled after five minutes; in a short run, after five twelfths of it. */
const SETTLED_MS = Math.min(5, (MINUTES * 5) / 12) * 60_000;
const SAMPLE_MS = 2_000;
const PRINT_EVERY = 15;
const LOSE_NODE_EVERY_MS = 60_000;
const NODE_AWAY_MS = 20_000;
/** Twice the interval of compaction, and a look of the janitor. */
const COMPACTED_WITHIN_MS = 130_000;
const MONITORED_WITHIN_MS = 20_000;
const MAX_DATABASE_GROWTH = 1.25;
const clock: Clock = systemClock;

const SETTINGS = {
  MOORING_REGISTRY_CHECK: 'false',
  MOORING_ETCD_COMPACT_EVERY_SECONDS: '60',
  MOORING_NODE_FAILED_AFTER_SECONDS: '6',
  MOORING_NODE_GRACE_SECONDS: '5',
  // Small, so that the bounds are reached in the first minutes.
  MOORING_EVENTS_PER_TENANT: '2000',
  MOORING_ARCHIVES_OF_DELETED: '200',
  MOORING_RATE_LIMIT_PER_SECOND: '10000',
  MOORING_RATE_LIMIT_BURST: '10000',
  MOORING_QUOTAS: 'containers=unlimited,deployments=unlimited,cpu=unlimited,memory=unlimited',
};

interface Stage {
  readonly plane: ControlPlane;
  readonly tenant: TenantClient;
  readonly agents: ReadonlyMap<string, Child>;
}

async function prepare(): Promise<Stage> {
  const plane = await ControlPlane.start(SETTINGS);
  const tenant = await TenantClient.open(plane, 'churn');
  const agents = new Map<string, Child>();
  for (const name of NODES) {
    const token = await requestJoinToken(tenant.client);
    const argv = [
      `--server=${plane.server}`,
      '--plain-http',
      `--name=${name}`,
      `--state-dir=${join(plane.folder, `agent-${name}`)}`,
      '--engine=simulated',
      '--stop-grace-seconds=1',
      '--log-level=error',
    ];
    const logFile = join(plane.folder, `agent-${name}.log`);
    const agent = new Child('agent', { argv, environment: { MOORING_JOIN_TOKEN: token }, logFile });
    agent.start();
    agents.set(name, agent);
  }
  for (const name of NODES) await untilNodeReady(tenant.client, name);
  return { plane, tenant, agents };
}

const counts = { created: 0, changed: 0, deleted: 0, refused: 0, lost: 0 };

/** Changes of what is being deleted and the like are refused; more of them, and little was tried. */
const MAX_REFUSED = 0.05;

/** One random change; how many deployments live stays about the same. */
async function changeSomething({ tenant }: Stage, live: string[]): Promise<void> {
  const chance = Math.random();
  const at = Math.floor(Math.random() * live.length);
  if (live.length < LIVE || chance < 0.3) {
    const name = `d${counts.created++}`;
    live.push(name);
    await tenant.apply({ name, image: 'registry.internal/churn:1', replicas: 2, environment: { ROUND: '0' } });
  } else if (chance < 0.7) {
    counts.changed++;
    await tenant.change(live[at]!, { environment: { ROUND: String(counts.changed) } });
  } else {
    const [name] = live.splice(at, 1);
    counts.deleted++;
    unwrap(await tenant.client.request('DELETE', `/api/v1/deployments/${name}`));
  }
}

async function churn(stage: Stage, signal: AbortSignal): Promise<void> {
  const live: string[] = [];
  while (!signal.aborted) {
    await changeSomething(stage, live).catch(() => void counts.refused++); // what was deleted may be changed, and the like
    await sleep(clock, (Math.random() * 2_000) / RATE, signal);
  }
}

/** A client that lists and watches as a dashboard does. */
async function read({ tenant }: Stage, signal: AbortSignal): Promise<void> {
  const path = '/api/v1/deployments';
  while (!signal.aborted) {
    for await (const _ of tenant.client.watch(path, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
    }));
    await tenant.client.request('GET', '/api/v1/events', { query: { limit: 100 } }).catch(() => undefined);
    await sleep(clock, 500, signal);
  }
}

/** Machines die with their containers and come back. */
async function loseNodes({ agents }: Stage, signal: AbortSignal): Promise<void> {
  for (let turn = 0; ; turn++) {
    await sleep(clock, LOSE_NODE_EVERY_MS, signal);
    if (signal.aborted) return;
    const agent = agents.get(NODES[turn % (NODES.length - 1)]!)!; // the last one stays, so that an agent is measured throughout
    counts.lost++;
    await agent.kill('SIGKILL');
    await sleep(clock, NODE_AWAY_MS, signal);
    agent.start();
  }
}

async function readDatabaseMb({ plane }: Stage): Promise<number> {
  const health = (await (await fetch(`${plane.server}/healthz`)).json()) as { store?: { databaseBytes: number } };
  if (!health.store) throw new Error('/healthz does not tell the size of the database');
  return health.store.databaseBytes / 2 ** 20;
}

async function takeSample(stage: Stage, began: number): Promise<MemorySample> {
  const { plane, agents } = stage;
  const ofProcess = (pid: number | undefined) => readProcessMemory(pid, 'VmRSS') / 2 ** 20;
  const megabytes = {
    server: ofProcess(plane.api.pid),
    controllers: ofProcess(plane.controllers.pid),
    agent: ofProcess(agents.get(NODES.at(-1)!)!.pid),
    etcd: ofProcess(plane.etcd.pid),
    [DATABASE]: await readDatabaseMb(stage).catch(() => 0),
  };
  return { atMs: clock.monotonic() - began, megabytes };
}

function print({ atMs, megabytes }: MemorySample): void {
  const figures = Object.entries(megabytes).map(([name, value]) => `${name} ${value.toFixed(1)} MB`);
  console.log(`${(atMs / 60_000).toFixed(1).padStart(5)} min  ${figures.join('  ')}  ${JSON.stringify(counts)}`);
}

async function measure(stage: Stage, ms: number): Promise<readonly MemorySample[]> {
  const samples: MemorySample[] = [];
  const began = clock.monotonic();
  while (clock.monotonic() - began < ms) {
    await sleep(clock, SAMPLE_MS);
    samples.push(await takeSample(stage, began));
    if (samples.length % PRINT_EVERY === 1) print(samples.at(-1)!);
  }
  print(samples.at(-1)!);
  return samples;
}

/** Many deployments come and go; what is left after compaction must not depend on how many there were. */
async function createAndDelete({ tenant }: Stage, from: number, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => `m${from + at}`);
  await inLanes(16, names, async name => {
    await until(`${name} to be taken`, () => tenant.apply({ name, image: 'registry.internal/churn:1', replicas: 1 }));
    await tenant.remove(name);
  });
}

function defragment({ plane }: Stage): void {
  const { etcdCaFile: ca, etcdCertFile: cert, etcdKeyFile: key } = plane.etcd.access;
  const argv = [`--endpoints=${plane.etcd.endpoint}`, `--cacert=${ca}`, `--cert=${cert}`, `--key=${key}`, 'defrag'];
  execFileSync('etcdctl', argv, { env: { ...process.env, ETCDCTL_API: '3' } });
}

/**
 * The size of etcd, compacted and defragmented, is no larger in the second half of the deployments than in the first: it follows
 * what the janitor and the compaction keep of the last minutes, and not how many there were.
 */
async function keepsDatabaseBounded(stage: Stage): Promise<boolean> {
  if (DEPLOYMENTS === 0) return true;
  const quarter = Math.ceil(DEPLOYMENTS / 4);
  const sizes: number[] = [];
  for (let part = 0; part < 4; part++) {
    await createAndDelete(stage, part * quarter, quarter);
    await sleep(clock, COMPACTED_WITHIN_MS);
    defragment(stage);
    await sleep(clock, MONITORED_WITHIN_MS);
    sizes.push(await readDatabaseMb(stage));
    console.log(`${(part + 1) * quarter} deployments created and deleted: etcd has ${sizes.at(-1)!.toFixed(1)} MB`);
  }
  const isBounded = Math.max(...sizes.slice(2)) <= MAX_DATABASE_GROWTH * Math.max(...sizes.slice(0, 2));
  console.log(`${isBounded ? 'ok    ' : 'FAILED'} database     ${sizes.map(size => size.toFixed(1)).join(' → ')} MB`);
  return isBounded;
}

/** Everything at once, for a while: no process is larger at the end than when it had settled. */
async function keepsMemoryBounded(stage: Stage): Promise<boolean> {
  if (MINUTES === 0) return true;
  const stop = new AbortController();
  const work = [churn(stage, stop.signal), read(stage, stop.signal), loseNodes(stage, stop.signal)];
  const samples = await measure(stage, MINUTES * 60_000);
  stop.abort();
  await Promise.allSettled(work);
  const verdicts = judgeGrowth(samples, SETTLED_MS).filter(({ name }) => name !== DATABASE);
  for (const { name, line, isBroken } of verdicts) {
    console.log(`${isBroken ? 'FAILED' : 'ok    '} ${name.padEnd(12)} ${line}`);
  }
  const asked = counts.created + counts.changed + counts.deleted;
  const isChurn = counts.deleted > 0 && counts.lost > 0 && counts.refused <= MAX_REFUSED * asked;
  console.log(`${isChurn ? 'ok    ' : 'FAILED'} ${'requests'.padEnd(12)} ${counts.refused} of ${asked} refused`);
  return isChurn && verdicts.every(({ isBroken }) => !isBroken);
}

const stage = await prepare();
let failed = false;
try {
  failed = !(await keepsMemoryBounded(stage));
  failed = !(await keepsDatabaseBounded(stage)) || failed;
} finally {
  await Promise.all([...stage.agents.values()].map(agent => agent.kill('SIGKILL')));
  await stage.plane.stop();
}
process.exitCode = failed ? 1 : 0;
