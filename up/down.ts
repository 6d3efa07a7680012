import { existsSync, realpathSync, rmSync } from 'node:fs';

import { formatCount } from '../crds/grammar/index.js';
import { releaseFolders } from './programs/index.js';
import { type ExitCode, exitCode, type Terminal } from '../pkg/terminal/index.js';
import type { Clock } from '../pkg/clock/index.js';
import type { Home, PartRecord } from './home/home.js';
import { terminateProcess, isAlive, findStrays } from './machine/os-process.js';
import { destroyDockerd, findDockerdFolder, stopLocalContainers, stopDockerd } from './parts/engine.js';
import { findSupervisor } from './supervisor/supervise.js';

/** Stops everything that `moor up` started in this home. With `purge`, removes the data too. */
export async function down(home: Home, { purge }: { purge: boolean }, terminal: Terminal): Promise<ExitCode> {
  if (!home.plan.exists()) {
    terminal.out('Mooring is not set up here: nothing to stop.\n');
    return exitCode.ok;
  }
  let count = 0;
  await stopParts(home, terminal.clock, (name, ms) => {
    count++;
    terminal.out(`  stopped ${name.padEnd(14)} ${(ms / 1000).toFixed(1)} s\n`);
  });
  const containers = await stopLocalContainers(home, { remove: purge }, terminal.environment);
  if (containers > 0) {
    const verb = purge ? 'removed' : 'stopped';
    terminal.out(`  ${verb} ${formatCount(containers, 'container')} on this machine's engine\n`);
  }
  home.development.remove();
  if (purge && existsSync(findDockerdFolder(home))) await destroyDockerd(home, terminal.clock);
  if (purge) {
    await releaseFolders([realpathSync(home.folder)]);
    rmSync(home.folder, { recursive: true, force: true });
  }
  const data = purge ? 'Its data was removed.' : `Its data stays in ${home.folder}; "moor up" resumes with it.`;
  terminal.out(`${count === 0 ? 'Mooring was not running.' : 'Mooring is down.'} ${data}\n`);
  return exitCode.ok;
}

/** The reverse of the order in which they are started. */
const order = ['agent', 'controllers', 'server', 'registry', 'dockerd', 'etcd'];

/** Called for each process that was ended. */
type OnEnded = (name: string, ms: number) => void;

/** Ends the supervisor and every part of a home. Ends nothing that it did not start. */
export async function stopParts(home: Home, clock: Clock, ended: OnEnded): Promise<void> {
  const supervisor = findSupervisor(home);
  // In the foreground it is this very process, which has stopped supervising.
  if (supervisor && supervisor.pid !== process.pid)
    await timed(clock, 'supervisor', ended, () => terminateProcess(supervisor, { clock, graceMs: 5_000 }));
  home.supervisor.remove();

  const records = home.records.names().flatMap(name => home.records.read(name) ?? []);
  for (const record of records.toSorted((a, b) => rank(a) - rank(b))) {
    const { name, process: identity, graceMs } = record;
    // An engine leaves containers behind when it is merely ended, and even when it was killed long ago.
    if (name === 'dockerd') await timed(clock, name, ended, () => stopDockerd(home, clock));
    else if (isAlive(identity)) await timed(clock, name, ended, () => terminateProcess(identity, { clock, graceMs }));
  }
  for (const stray of findStrays(home.folder, [])) await terminateProcess(stray, { clock, graceMs: 5_000 });
  for (const { name } of records) home.records.remove(name);
}

function rank({ name }: PartRecord): number {
  return order.findIndex(kind => name === kind || name.startsWith(`${kind}-`));
}

async function timed(clock: Clock, name: string, ended: OnEnded, work: () => Promise<void>): Promise<void> {
  const since = clock.monotonic();
  await work();
  ended(name, clock.monotonic() - since);
}
