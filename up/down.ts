import { existsSync, rmSync } from 'node:fs';

import { type ExitCode, exitCode, type Terminal } from '../pkg/cli/index.js';
import type { Home } from './home.js';
import { settleContainers } from './own-containers.js';
import { destroyDockerd, dockerdFolder } from './parts/dockerd.js';
import { stopAll } from './stop-all.js';

export interface DownOptions {
  /** Removes the data too. */
  readonly purge: boolean;
}

/** Stops everything that `moor up` started in this home. The data stays, unless told otherwise. */
export async function down(home: Home, { purge }: DownOptions, terminal: Terminal): Promise<ExitCode> {
  if (!home.plan.read()) {
    terminal.out('Mooring is not set up here: nothing to stop.\n');
    return exitCode.ok;
  }
  let count = 0;
  await stopAll(home, terminal.clock, (name, ms) => {
    count++;
    terminal.out(`  stopped ${name.padEnd(14)} ${(ms / 1000).toFixed(1)} s\n`);
  });
  const containers = await settleContainers(home, { remove: purge }, terminal.environment);
  if (containers > 0)
    terminal.out(`  ${purge ? 'removed' : 'stopped'} ${containers} containers on this machine's engine\n`);
  home.development.remove();
  if (purge && existsSync(dockerdFolder(home))) await destroyDockerd(home, terminal.clock);
  if (purge) rmSync(home.folder, { recursive: true, force: true });
  const data = purge ? 'Its data is gone.' : `Its data stays in ${home.folder}; "moor up" goes on with it.`;
  terminal.out(`${count === 0 ? 'Mooring was not running.' : 'Mooring is down.'} ${data}\n`);
  return exitCode.ok;
}
