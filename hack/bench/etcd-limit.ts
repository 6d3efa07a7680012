import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import type { Cell } from './rounds.js';

const run = promisify(execFile);
const SOURCE = join(dirname(fileURLToPath(import.meta.url)), 'etcd-limit');
const BINARY = resolve('.cache/etcd-limit');

export interface LimitQuestion {
  readonly endpoint: string;
  readonly clients: number;
  readonly seconds: number;
  /** Transactions packed into one call. */
  readonly batch: number;
  /** Bytes of each value that one transaction writes. */
  readonly puts: readonly number[];
}

/** Whether the Go program that asks etcd for its limit can be had here; it is built once into the cache. */
export async function goLimitAvailable(): Promise<boolean> {
  if (existsSync(BINARY)) return true;
  await mkdir(dirname(BINARY), { recursive: true });
  return run('go', ['build', '-o', BINARY, '.'], { cwd: SOURCE }).then(
    () => true,
    () => false,
  );
}

/** What etcd does with this transaction through its own client. */
export async function etcdLimit({ endpoint, clients, seconds, batch, puts }: LimitQuestion): Promise<Cell> {
  const address = endpoint.replace(/^https?:\/\//, '');
  const { stdout } = await run(BINARY, [
    `-endpoint=${address}`,
    `-clients=${clients}`,
    `-seconds=${seconds}`,
    `-batch=${batch}`,
    `-puts=${puts.join(',')}`,
  ]);
  return JSON.parse(stdout) as Cell;
}
