import { execFile } from 'node:child_process';
import { resolve } from 'node:path';

import type { ControlPlane } from './control-plane.js';
import type { TenantClient } from './tenant-client.js';

/** What a command came to. */
export interface MoorResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command as a person of the tenant does. */
export function runMoor(
  { server }: Pick<ControlPlane, 'server'>,
  { token }: Pick<TenantClient, 'token'>,
  ...argv: readonly string[]
): Promise<MoorResult> {
  const env = { ...process.env, MOORING_SERVER: server, MOORING_TOKEN: token };
  return new Promise(end => {
    execFile(resolve('moor'), argv, { env }, (error, stdout, stderr) =>
      end({ status: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}
