import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { EtcdProcess } from '../../dev/processes/index.js';
import { EtcdStore } from '../../pkg/store/index.js';
import { programArguments } from '../../pkg/version/index.js';
import { buildLimitClient, measureLimit } from './etcd-own.js';
import { onFreshEtcd } from './fresh.js';
import type { BenchResult } from './report.js';
import { interleave, median, ratio } from './rounds.js';
import { makeNodePuts, PREFIX, startScheduler, storeAll } from './scheduler-state.js';

const run = promisify(execFile);

const PLACED = 10_000;
const LIMIT_SECONDS = 4;
const MISFITS_PER_SECOND = 5;

/** Bytes of the two values that one placement writes: the replica and the event. */
const PLACEMENT_PUTS = [760, 520];

/**
 * W3 end to end: deployments with one replica each are written by another process; the real loop hears of them from its
 * watch, finds a node among many for each, and binds it durably; the other process sees that in its own watch. Against
 * etcd's own limit for the transaction that binds.
 */
export async function measureSchedulingOnEtcd(rounds: number): Promise<BenchResult[]> {
  const client = await buildLimitClient();
  await onFreshEtcd(etcd => placeOn(etcd, 5_000, 0)); // V8 goes on optimising the loop for several seconds
  const cells = await interleave<'middle' | 'limit' | 'misfits' | 'small' | 'large', number>(rounds, {
    middle: () => onFreshEtcd(etcd => placeOn(etcd, 5_000, 0)),
    limit: () => onFreshEtcd(limit),
    misfits: () => onFreshEtcd(etcd => placeOn(etcd, 5_000, MISFITS_PER_SECOND)),
    small: () => onFreshEtcd(etcd => placeOn(etcd, 1_000, 0)),
    large: () => onFreshEtcd(etcd => placeOn(etcd, 10_000, 0)),
  });
  const shown = (rates: readonly number[]) => `${median(rates).toFixed(0)}/s`;
  const against = (ours: readonly number[], peers: readonly number[]) => ({
    ratio: ratio(ours, peers),
    larger: true,
    figures: `${shown(ours)} against ${shown(peers)}`,
  });
  return [
    {
      workload: 'W3e',
      what: `placements on etcd, 5,000 nodes, from one watch to the other, over etcd's own limit for the same transaction (${client})`,
      ...against(cells.middle, cells.limit),
      floor: 0.5,
      target: 1,
    },
    {
      workload: 'W3eb',
      what: 'the same with 10,000 nodes, over 1,000',
      ...against(cells.large, cells.small),
      floor: 0.4,
      target: 0.75,
    },
    {
      workload: 'W3c',
      what: `the same with ${MISFITS_PER_SECOND} deployments a second that fit nowhere, every node explained, over none`,
      ...against(cells.misfits, cells.middle),
      floor: 0.7,
      target: 0.87,
    },
  ];
}

async function limit(etcd: EtcdProcess): Promise<number> {
  return (
    await measureLimit(etcd, { clients: 64, seconds: LIMIT_SECONDS, batch: 1, transaction: { puts: PLACEMENT_PUTS } })
  ).perSecond;
}

/** Placements a second, as the process that wrote the deployments sees them made. */
async function placeOn(etcd: EtcdProcess, nodes: number, misfits: number): Promise<number> {
  const store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: PREFIX });
  const machines = Array.from({ length: nodes }, (_, position) => makeNodePuts('tenant-0', position));
  await storeAll(store, machines.flat());
  const loop = startScheduler(store, () => undefined);
  await loop.cache.ready;
  const program = programArguments('hack/bench/replica-writer.ts');
  const { stdout } = await run(process.execPath, [...program, etcd.endpoint, String(PLACED), String(misfits)]);
  await loop.stop();
  await store.close();
  return PLACED / Number(stdout);
}
