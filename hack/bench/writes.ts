import { ranges } from '../../crds/keys/index.js';
import { ControlPlane } from '../../e2e/lab/control-plane.js';
import type { EtcdProcess } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { EtcdStore } from '../../pkg/store/index.js';
import type { Transaction } from './etcd-limit.js';
import { buildLimitClient, measureLimit } from './etcd-own.js';
import { onFreshEtcd } from './fresh.js';
import type { BenchResult } from './report.js';
import { type LoadResult, interleave, median, quantile, ratio } from './rounds.js';
import { runWrk } from './wrk.js';

const SECONDS = 4;

/** V8 goes on optimising the server for several seconds under load. */
const WARM_SECONDS = 8;
/** No rate is too high, and no registry is asked: none has the image that is posted. */
const UNLIMITED = {
  MOORING_RATE_LIMIT_PER_SECOND: '1000000000',
  MOORING_RATE_LIMIT_BURST: '1000000000',
  MOORING_REGISTRY_CHECK: 'false',
};

const ONE_PUT: Transaction = { puts: [1_024] };

/** W1: a validated, durable POST at 64 connections, against etcd's own limit for the same transaction. */
export async function createOverHttp(rounds: number): Promise<BenchResult[]> {
  const client = await buildLimitClient();
  const transaction = await onPlane(transactionOfCreate);
  const { ours, etcd } = await interleave<'ours' | 'etcd', LoadResult>(rounds, {
    ours: () => onPlane(postedDeployments),
    etcd: () => onFreshEtcd(fresh => measureLimit(fresh, { clients: 64, seconds: SECONDS, batch: 1, transaction })),
  });
  const failures = ours.reduce((sum, cell) => sum + cell.failures, 0);
  const rate = (cells: readonly LoadResult[]) => median(cells.map(cell => cell.perSecond)).toFixed(0);
  const slowest = (cells: readonly LoadResult[]) => median(cells.map(cell => cell.p99)).toFixed(1);
  return [
    {
      workload: 'W1',
      what: `POST of a deployment, 64 connections, over etcd's own limit for the same transaction (${client})`,
      ratio: ratio(
        ours.map(cell => cell.perSecond),
        etcd.map(cell => cell.perSecond),
      ),
      floor: 0.55,
      target: 0.75,
      larger: true,
      figures: `${rate(ours)}/s against ${rate(etcd)}/s of ${transaction.puts.join(' + ')} bytes; ${failures} answers that were not 201`,
    },
    {
      workload: 'W1b',
      what: 'the same: p99 over etcd’s own p99',
      ratio: ratio(
        ours.map(cell => cell.p99),
        etcd.map(cell => cell.p99),
      ),
      floor: 3,
      target: 1.5,
      larger: false,
      figures: `${slowest(ours)} ms against ${slowest(etcd)} ms`,
    },
  ];
}

/** The server alone: the loops would compete with it for the two cores, and have nothing to do with a create. */
async function onPlane<T>(measure: (plane: ControlPlane) => Promise<T>): Promise<T> {
  const plane = await ControlPlane.start({ ...UNLIMITED, MOORING_LOG_LEVEL: 'warn' }, { isOpen: true });
  try {
    await plane.controllers.kill('SIGKILL');
    return await measure(plane);
  } finally {
    await plane.stop();
  }
}

async function postedDeployments(plane: ControlPlane): Promise<LoadResult> {
  await post(plane, 'warm', WARM_SECONDS);
  return post(plane, 'bench', SECONDS);
}

function post(plane: ControlPlane, prefix: string, seconds: number): Promise<LoadResult> {
  return runWrk({
    url: `${plane.server}/api/v1/deployments`,
    connections: 64,
    seconds,
    script: 'hack/bench/create.lua',
    arguments: [plane.access.tenantToken, prefix],
  });
}

/** What one create writes: the deployment, its archive entry and, on a lease, its event; it guards that its tenant exists. */
async function transactionOfCreate(plane: ControlPlane): Promise<Transaction> {
  const store = plane.openStore();
  // A server that has just started may store nothing within the first second of load.
  const lists = await until('a stored deployment, its archive entry and its event', async () => {
    await post(plane, 'one', 1);
    const listed = [ranges.deployments, ranges.archives, ranges.events].map(range => store.list(range));
    return Promise.all(listed).then(each => each.every(({ entries }) => entries.length > 0) && each);
  });
  await store.close();
  const written = lists.map(({ entries }) => entries.at(-1)!);
  return {
    puts: written.map(({ bytes }) => bytes.length),
    keys: written.map(({ key }) => '/mooring/'.length + key.length),
    parent: true,
    lease: true,
  };
}

/** W2: the store layer alone, 256 changes under way, against the same batches from Go and against one a call. */
export async function measureStoreLayer(rounds: number): Promise<BenchResult[]> {
  const client = await buildLimitClient();
  const { ours, batched, single } = await interleave<'ours' | 'batched' | 'single', LoadResult>(rounds, {
    ours: () => onFreshEtcd(committed),
    batched: () =>
      onFreshEtcd(etcd => measureLimit(etcd, { clients: 2, seconds: SECONDS, batch: 100, transaction: ONE_PUT })),
    single: () =>
      onFreshEtcd(etcd => measureLimit(etcd, { clients: 64, seconds: SECONDS, batch: 1, transaction: ONE_PUT })),
  });
  const rates = (cells: readonly LoadResult[]) => cells.map(cell => cell.perSecond);
  const shown = (cells: readonly LoadResult[]) => `${median(rates(cells)).toFixed(0)}/s`;
  const against = client.startsWith('Go')
    ? [
        {
          workload: 'W2',
          what: `compare-and-set creates through the store, 256 under way, over the same batches (${client})`,
          ratio: ratio(rates(ours), rates(batched)),
          floor: 0.7,
          target: 0.9,
          larger: true,
          figures: `${shown(ours)} against ${shown(batched)}`,
        },
      ]
    : [];
  return [
    ...against,
    {
      workload: 'W2b',
      what: `the same, over etcd’s limit at one transaction a call (${client})`,
      ratio: ratio(rates(ours), rates(single)),
      floor: 2.5,
      target: 4,
      larger: true,
      figures: `${shown(ours)} against ${shown(single)}`,
    },
  ];
}

async function committed(etcd: EtcdProcess): Promise<LoadResult> {
  const store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/bench/' });
  const bytes = Buffer.alloc(1_024, 120);
  const times: number[] = [];
  let failures = 0;
  let made = 0;
  const begun = performance.now();
  const end = begun + SECONDS * 1_000;
  const writer = async () => {
    while (performance.now() < end) {
      const key = `created/${String(made++).padStart(9, '0')}`;
      const sentAt = performance.now();
      const { stored } = await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes }], deletes: [] });
      if (!stored) failures++;
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: 256 }, writer));
  const took = (performance.now() - begun) / 1_000;
  await store.close();
  return { perSecond: times.length / took, p50: quantile(times, 0.5), p99: quantile(times, 0.99), failures };
}
