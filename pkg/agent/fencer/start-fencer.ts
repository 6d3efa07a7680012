import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LOG = 'fencer.log';

/** Starts the fencer of an agent so that it outlives the agent, in a session of its own. */
export function startFencer(stateDir: string): void {
  const log = openLog(join(stateDir, LOG));
  const child = spawn(process.execPath, [...process.execArgv, findMain(), '--state-dir', stateDir], {
    detached: true,
    stdio: ['ignore', log, log],
  });
  child.on('error', () => undefined); // it does not answer then, and that is noticed
  child.unref();
  if (typeof log === 'number') closeSync(log);
}

/** Beside the program of the agent where that is one file, and beside this one where it stands as it was written. */
function findMain(): string {
  const isBundled = !import.meta.url.includes('/fencer/');
  const name = import.meta.url.endsWith('.ts') ? 'main.ts' : 'main.js';
  return fileURLToPath(new URL(isBundled ? `fencer/${name}` : name, import.meta.url));
}

function openLog(path: string): number | 'ignore' {
  try {
    return openSync(path, 'a', 0o600);
  } catch {
    return 'ignore'; // a state folder that cannot be written is when it is needed
  }
}
