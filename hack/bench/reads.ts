import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import type { EtcdProcess } from '../../dev/processes/index.js';
import { programArguments } from '../../pkg/version/index.js';
import { onFreshEtcd } from './fresh.js';
import type { BenchResult } from './report.js';
import { type LoadResult, interleave, median, ratio } from './rounds.js';
import { runWrk } from './wrk.js';

const SECONDS = 3;

type Mode = 'consistent' | 'cached' | 'stringify';

/** One read server, asked once, with the longest time that its event loop stood still. */
interface Read extends LoadResult {
  readonly longestDelayMs: number;
}

/** W8 and W9: consistent reads against cached ones, and a list against the obvious way to answer it. */
export async function measureReads(rounds: number): Promise<BenchResult[]> {
  return onFreshEtcd(async etcd => {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-reads-'));
    const ask = (mode: Mode, path: string, connections: number) => () =>
      read(etcd, mode, { path, connections, folder });
    const one = '/api/v1/deployments/d05000';
    const list = '/api/v1/deployments?limit=500';
    const found = await interleave<'consistent' | 'cached' | 'list' | 'stringified', Read>(rounds, {
      consistent: ask('consistent', one, 64),
      cached: ask('cached', one, 64),
      list: ask('consistent', list, 4),
      stringified: ask('stringify', list, 4),
    });
    await rm(folder, { recursive: true, force: true });
    const rates = (cells: readonly LoadResult[]) => cells.map(cell => cell.perSecond);
    const rate = (cells: readonly LoadResult[]) => `${median(rates(cells)).toFixed(0)}/s`;
    const delay = (cells: readonly Read[]) => `${median(cells.map(cell => cell.longestDelayMs)).toFixed(0)} ms`;
    return [
      {
        workload: 'W8',
        what: 'consistent GET at 64 connections, over a GET from the cache',
        ratio: ratio(rates(found.consistent), rates(found.cached)),
        floor: 0.7,
        target: 0.9,
        larger: true,
        figures: `${rate(found.consistent)} against ${rate(found.cached)}`,
      },
      {
        workload: 'W9',
        what: 'list of 10,000 deployments in pages of 500, over JSON.stringify of the same pages',
        ratio: ratio(rates(found.list), rates(found.stringified)),
        floor: 5,
        target: 10,
        larger: true,
        figures: `${rate(found.list)} against ${rate(found.stringified)}; longest event-loop delay ${delay(found.list)} against ${delay(found.stringified)}`,
      },
    ];
  });
}

async function read(
  etcd: EtcdProcess,
  mode: Mode,
  ask: { path: string; connections: number; folder: string },
): Promise<Read> {
  const program = programArguments('hack/bench/read-server.ts');
  const child = spawn(process.execPath, [...program, etcd.endpoint, mode, ask.folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async <T>() => JSON.parse((await lines.next()).value as string) as T;
  const { url, token } = await next<{ url: string; token: string }>();
  const load = (seconds: number) =>
    runWrk({
      url: url + ask.path,
      connections: ask.connections,
      seconds,
      script: 'hack/bench/read.lua',
      arguments: [token],
    });
  await load(1);
  const cell = await load(SECONDS);
  const { longestDelayMs } = await stop(child, () => next<{ longestDelayMs: number }>());
  return { ...cell, longestDelayMs };
}

async function stop<T>(child: ChildProcess, lastWords: () => Promise<T>): Promise<T> {
  child.kill('SIGTERM');
  const words = await lastWords();
  await new Promise(resolve => child.once('exit', resolve));
  return words;
}
