import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { clone } from '../../pkg/version/index.js';
import type { LoadResult } from './rounds.js';

const run = promisify(execFile);
const SOURCE = join(clone, 'hack/bench/etcd-limit');
const BINARY = resolve('.cache/etcd-limit');

export interface LimitQuestion {
  readonly endpoint: string;
  readonly clients: number;
  readonly seconds: number;
  /** Transactions packed into one call. */
  readonly batch: number;
  readonly transaction: Transaction;
}

/** What one transaction does, beside guarding that its first key does not exist yet. */
export interface Transaction {
  /** Bytes of each value that it writes. */
  readonly puts: readonly number[];
  /** Bytes of each key, where that is known. */
  readonly keys?: readonly number[];
  /** It also guards that another key exists. */
  readonly parent?: boolean;
  /** Its last put is on a lease. */
  readonly lease?: boolean;
}

/** Whether the Go program that asks etcd for its limit can be had here; it is built into the cache. */
export async function isGoLimitAvailable(): Promise<boolean> {
  await mkdir(dirname(BINARY), { recursive: true });
  return run('go', ['build', '-o', BINARY, '.'], { cwd: SOURCE }).then(
    () => true,
    () => false,
  );
}

/** What etcd does with this transaction through its own client. */
export async function runEtcdLimit({
  endpoint,
  clients,
  seconds,
  batch,
  transaction,
}: LimitQuestion): Promise<LoadResult> {
  const { puts, keys = [], parent = false, lease = false } = transaction;
  const address = endpoint.replace(/^https?:\/\//, '');
  const { stdout } = await run(BINARY, [
    `-endpoint=${address}`,
    `-clients=${clients}`,
    `-seconds=${seconds}`,
    `-batch=${batch}`,
    `-puts=${puts.join(',')}`,
    `-keys=${keys.join(',')}`,
    `-parent=${parent}`,
    `-lease=${lease}`,
  ]);
  return JSON.parse(stdout) as LoadResult;
}
