import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';

import type { Programs } from './programs.js';

const TSC = 'node_modules/typescript/bin/tsc';

/**
 * Does work while all our programs are there as plain JavaScript, for tests that start them a hundred times. The folder
 * is inside the clone, where they find their packages.
 */
export async function whileCompiled<T>(programs: Programs, work: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync('.cache', { recursive: true });
  const folder = resolve(mkdtempSync('.cache/test-'));
  try {
    const argv = [TSC, '-p', '.', '--noCheck', '--noEmit', 'false', '--outDir', folder];
    const { status, printed } = await programs.run(argv, { live: false });
    if (status !== 0) throw new Error(`the programs cannot be compiled: ${printed}`);
    copyFileSync('package.json', `${folder}/package.json`);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
