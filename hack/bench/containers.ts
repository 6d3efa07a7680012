import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

import { inLanes, timeEngineAlone, timeReplacingAlone, timeToRunning, timeUntil } from '../../e2e/lab/apply-time.js';
import { ControlPlane } from '../../e2e/lab/control-plane.js';
import { Fleet } from '../../e2e/lab/fleet.js';
import { JobClient, type ShownJob } from '../../e2e/lab/job-client.js';
import { type ShownDeployment, TenantClient } from '../../e2e/lab/tenant-client.js';
import { DockerEngine } from '../../pkg/agent/index.js';
import { listPids, readProc, readStat } from '../../up/machine/process-stat.js';
import type { BenchResult } from './report.js';
import { interleave, median, ratio } from './rounds.js';

/** A control plane with one machine and its engine, and what is asked of it. */
interface Bench {
  readonly fleet: Fleet;
  readonly engine: DockerEngine;
  readonly shop: TenantClient;
  readonly image: string;
  /** A name that nothing had before. */
  readonly next: () => string;
}

export async function withMachine(
  settings: Readonly<Record<string, string>>,
  measure: (bench: Bench) => Promise<BenchResult[]>,
): Promise<BenchResult[]> {
  const plane = await ControlPlane.start(settings);
  const fleet = await Fleet.start(plane);
  const engine = new DockerEngine({ host: fleet.engine.host });
  let count = 0;
  try {
    const shop = await TenantClient.open(plane, 'bench');
    await fleet.enrol(shop.client, 'bench-1');
    const image = await fleet.image('1');
    await timeToRunning(shop, 'warm', { image, replicas: 1 });
    return await measure({ fleet, engine, shop, image, next: () => `bench-${count++}` });
  } finally {
    await engine.close();
    await fleet.stop();
    await plane.stop();
  }
}

const shown = (ours: readonly number[], alone: readonly number[]) =>
  `${median(ours).toFixed(0)} ms against ${median(alone).toFixed(0)} ms`;

/** W5: from apply to a container that was seen running, against the engine's own create and start. */
export function applyToRunning(rounds: number): Promise<BenchResult[]> {
  return withMachine({}, async ({ engine, shop, image, next }) => {
    const one = await interleave(rounds * 8, {
      ours: () => timeToRunning(shop, next(), { image, replicas: 1 }),
      engine: () => timeEngineAlone(engine, { tenant: shop.id, name: next(), image, count: 1 }),
    });
    const many = await interleave(rounds, {
      ours: () => timeToRunning(shop, next(), { image, replicas: 20 }),
      engine: () => timeEngineAlone(engine, { tenant: shop.id, name: next(), image, count: 20 }),
    });
    return [
      {
        workload: 'W5',
        what: 'apply until a tail shows the container running, over the engine’s create and start',
        ratio: ratio(one.ours, one.engine),
        floor: 1.5,
        target: 1.15,
        larger: false,
        figures: shown(one.ours, one.engine),
      },
      {
        workload: 'W5b',
        what: 'the same with 20 replicas, over 20 parallel creates and starts',
        ratio: ratio(many.ours, many.engine),
        floor: 1.5,
        target: 1.2,
        larger: false,
        figures: shown(many.ours, many.engine),
      },
    ];
  });
}

const REPLICAS = 20;
const SURGE = 5;

/** W20: a rollout of 20 replicas, 5 beyond the wanted ones at a time, against the engine's own time for the same. */
export function rollOut(rounds: number): Promise<BenchResult[]> {
  // A container without a health check counts as soon as it runs: how long it must settle is not the platform's time.
  return withMachine({ MOORING_ROLLOUT_SETTLE_SECONDS: '0' }, async ({ engine, shop, image, next }) => {
    const rollout = { maxSurge: SURGE, maxUnavailable: 0 };
    await shop.apply({ name: 'rolled', image, replicas: REPLICAS, rollout });
    await shop.reaches('rolled', 'Running');
    // Containers that were replaced are shown until they are removed.
    const isOver = ({ name, metadata: { generation }, status }: ShownDeployment) =>
      name === 'rolled' &&
      status?.rollout?.state === 'complete' &&
      status.rollout.revision === generation &&
      status.placements.every(placement => placement.generation === generation);
    const cells = await interleave(rounds * 3, {
      ours: async () => {
        const before = (await shop.show('rolled')).metadata.generation;
        return timeUntil<ShownDeployment>(shop, '/api/v1/deployments', {
          act: () => shop.change('rolled', { environment: { ROUND: next() } }),
          isOver: each => each.metadata.generation > before && isOver(each),
        });
      },
      engine: () => timeReplacingAlone(engine, { tenant: shop.id, name: next(), image, count: REPLICAS, surge: SURGE }),
    });
    return [
      {
        workload: 'W20',
        what: `a rollout of ${REPLICAS} replicas, ${SURGE} more at a time, until the old ones are gone, over the engine’s own time`,
        ratio: ratio(cells.ours, cells.engine),
        floor: 1.3,
        target: 1.15,
        larger: false,
        figures: shown(cells.ours, cells.engine),
      },
    ];
  });
}

const JOBS = 200;
const PARALLEL_RUNS = 20;
const run = promisify(execFile);

/** W21: 200 jobs that do nothing, against as many `docker run`, 20 at a time. */
export function runJobs(rounds: number): Promise<BenchResult[]> {
  return withMachine({}, async ({ fleet, shop, image, next }) => {
    const jobs = new JobClient(shop);
    const names = () => Array.from({ length: JOBS }, next);
    const cells = await interleave(rounds * 2, {
      ours: async () => {
        const created = names();
        const left = new Set(created);
        const took = await timeUntil<ShownJob>(shop, '/api/v1/jobs', {
          act: () =>
            inLanes(PARALLEL_RUNS, created, async name => {
              await jobs.create({ name, image, entrypoint: ['/bin/true'], backoffLimit: 0 });
            }),
          isOver: ({ name, status }) => {
            if (status.phase === 'Failed') throw new Error(`job ${name} failed: ${status.message}`);
            if (status.phase === 'Succeeded') left.delete(name);
            return left.size === 0;
          },
        });
        await inLanes(PARALLEL_RUNS, created, name => jobs.remove(name));
        return took;
      },
      engine: async () => {
        const begun = performance.now();
        const network = `mooring-${shop.id}`;
        await inLanes(PARALLEL_RUNS, names(), async name => {
          const argv = ['--host', fleet.engine.host, 'run', '--rm', '--name', name, '--network', network];
          await run('docker', [...argv, '--entrypoint', '/bin/true', image]);
        });
        return performance.now() - begun;
      },
    });
    return [
      {
        workload: 'W21',
        what: `${JOBS} jobs of true, over ${PARALLEL_RUNS} parallel docker run`,
        ratio: ratio(cells.ours, cells.engine),
        floor: 1.3,
        target: 1,
        larger: false,
        figures: shown(cells.ours, cells.engine),
      },
    ];
  });
}

const MEASURED = 20;
const READINGS = 10;
/** How often an agent measures each container. */
const MEASURE_EVERY_MS = 15_000;

/** W22: what it costs to measure the containers of a node, as an agent does: the share of one core of a node with 20 of them. */
export function measureUsage(rounds: number): Promise<BenchResult[]> {
  return withMachine({}, async ({ fleet, engine, shop, image }) => {
    await shop.apply({ name: 'measured', image, replicas: MEASURED });
    await shop.reaches('measured', 'Running');
    const ids = (await fleet.view.running('measured')).map(({ id }) => id);
    const folder = dirname(fleet.engine.host.replace('unix://', ''));
    const readAll = async () => {
      for (let pass = 0; pass < READINGS; pass++) await Promise.all(ids.map(id => engine.readUsage(id)));
    };
    let tookMs = 0;
    const cells = await interleave(rounds, {
      busy: () =>
        countCpuMs(folder, async () => {
          const begun = performance.now();
          await readAll();
          tookMs = performance.now() - begun;
        }),
      // What the engine does all the same.
      idle: () => countCpuMs(folder, () => pause(tookMs)),
    });
    const own = cells.busy.map((busy, round) => Math.max(0, busy - cells.idle[round]!) / READINGS);
    const perReading = median(own) / MEASURED;
    return [
      {
        workload: 'W22',
        what: `the usage of ${MEASURED} containers, read every ${MEASURE_EVERY_MS / 1000} s: share of one core, engine and agent`,
        ratio: ratio(
          own,
          own.map(() => MEASURE_EVERY_MS),
        ),
        floor: 0.02,
        target: 0.01,
        larger: false,
        figures: `${perReading.toFixed(2)} ms of processor time a container and reading`,
      },
    ];
  });
}

/** Milliseconds of processor time that the processes of an engine and this one spend on some work. */
async function countCpuMs(folder: string, work: () => Promise<unknown>): Promise<number> {
  const before = { engine: readEngineCpuMs(folder), own: process.cpuUsage() };
  await work();
  const { user, system } = process.cpuUsage(before.own);
  return readEngineCpuMs(folder) - before.engine + (user + system) / 1000;
}

const MS_PER_TICK = 10;

/** The daemon, its containerd and what that starts for each container: all of them name the folder of the engine. */
function readEngineCpuMs(folder: string): number {
  const pids = listPids().filter(pid => readProc(`${pid}/cmdline`).includes(folder));
  const ticks = pids.flatMap(pid => readStat(pid).slice(11, 13).map(Number));
  return ticks.reduce((sum, each) => sum + each, 0) * MS_PER_TICK;
}
