import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { LoadResult } from './rounds.js';

const run = promisify(execFile);

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** A Lua script that makes the requests. */
  readonly script: string;
  /** Passed to the script. */
  readonly arguments: readonly string[];
}

const MILLISECONDS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };

/** Loads a server with Debian's wrk, which costs a fifth of what a load generator in Node costs. */
export async function runWrk(load: Load): Promise<LoadResult> {
  const { stdout } = await run('wrk', [
    '-t1',
    `-c${load.connections}`,
    `-d${load.seconds}s`,
    '--timeout=10s',
    '--latency',
    '-s',
    load.script,
    load.url,
    '--',
    ...load.arguments,
  ]);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p50: latency(stdout, '50%'),
    p99: latency(stdout, '99%'),
    failures: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0),
  };
}

function latency(stdout: string, quantile: string): number {
  const [, figure, unit] = new RegExp(`${quantile}\\s+([\\d.]+)(us|ms|s|m)\\b`).exec(stdout) ?? [];
  return Number(figure) * (MILLISECONDS[unit ?? ''] ?? Number.NaN);
}
