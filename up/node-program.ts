import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { clone } from '../pkg/version/index.js';

/** One of our own programs, started in the background. */
export interface Background {
  /** Path within the clone: `api/main.ts`. */
  readonly main: string;
  readonly words: readonly string[];
  /** Added to the environment of this process. A secret goes here, never among the words. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** Starts a program that outlives this process, and answers its id. */
export function startProgram({ main, words, environment, logFile }: Background): Promise<number> {
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [...programAt(main), ...words], {
    cwd: clone,
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...environment },
  });
  closeSync(log);
  child.unref();
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid!));
  });
}

/** The words for Node that run a program as this one runs: compiled, or as it stands. */
function programAt(main: string): readonly string[] {
  const path = fileURLToPath(new URL(`../${main}`, import.meta.url));
  if (import.meta.url.endsWith('.js')) return [path.replace(/\.ts$/, '.js')];
  return ['--import', join(clone, 'node_modules/tsx/dist/loader.mjs'), path];
}
