/**
 * The all-in-one: `moor up` and `moor down` run everything on this machine, for development.
 *
 * The supervisor is a reconciler: each pass compares a plan on disk with a record on disk for each process, which holds its
 * id and start time. So a supervisor takes over the processes of an earlier one, and ends no process that was not started
 * here. `in-memory.ts` (`moor up --ephemeral`) runs everything in one process instead, on a store in memory.
 *
 * | Folder | Holds |
 * |---|---|
 * | `machine/` | processes and sockets of this machine |
 * | `home/` | the folder that plan, records, keys and logs are in |
 * | `parts/` | what is started, each with its facts for the next: etcd, engine, registry, server, controllers, agents |
 * | `supervisor/` | turns the plan into parts and keeps them running |
 *
 * @module
 */
import { resolve } from 'node:path';

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

import { type ExitCode, exitCode, findHomeFolder, createProcessTerminal } from '../pkg/terminal/index.js';
import { Fault } from '../pkg/fault/index.js';
import { down } from './down.js';
import type { EphemeralOptions } from './ephemeral.js';
import { type EngineKind, Home } from './home/home.js';
import { toHomeFault } from './home/home-fault.js';
import { up } from './up.js';

const MOST_NODES = 20;

interface UpFlags {
  readonly nodes?: number;
  readonly engine?: EngineKind;
  readonly bindRoot?: readonly string[];
  readonly ephemeral?: true;
  readonly demo: boolean;
  readonly foreground?: true;
}

const terminal = createProcessTerminal();
const home = new Home(findHomeFolder(process.env));

const program = new Command('moor').description('Mooring, all in one, on this machine').exitOverride();

program
  .command('up')
  .description('start everything on loopback, or adjust what runs to these options')
  .option('--nodes <count>', 'number of nodes, one agent each (default: as before, else 1)', parseNodeCount)
  .addOption(
    new Option('--engine <engine>', 'what runs containers (default: as before, else docker)').choices([
      'docker',
      'simulated',
    ]),
  )
  .option(
    '--bind-root <folder>',
    'folder whose subfolders may be volumes of type bind; may be repeated, empty: none (default: as before, else none)',
    (folder: string, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...(folder === '' ? [] : [resolve(folder)]),
    ],
  )
  .option('--ephemeral', 'run everything in this one process, in memory; nothing is kept')
  .option('--no-demo', 'do not deploy the demo')
  .option('--foreground', 'stay in the foreground; Ctrl-C stops everything')
  .action(async (options: UpFlags) => {
    const { nodes, engine, bindRoot: bindRoots, demo, foreground = false, ephemeral = false } = options;
    if (ephemeral && bindRoots?.length)
      program.error('error: --bind-root: what is in memory has no volumes of the machine');
    process.exitCode = ephemeral
      ? await runEphemeral({ nodes: nodes ?? 1, engine: engine ?? 'simulated', demo })
      : await up(home, { nodes, engine, bindRoots, demo, foreground }, terminal);
  });

program
  .command('down')
  .description('stop everything that "moor up" started')
  .option('--purge', 'remove its data too')
  .action(async ({ purge }: { purge?: true }) => {
    process.exitCode = await down(home, { purge: purge ?? false }, terminal);
  });

// Timers of the clock do not keep a process alive, and these commands wait.
const alive = setInterval(() => undefined, 2 ** 30);
try {
  await program.parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) process.exitCode = thrown.exitCode === 0 ? exitCode.ok : exitCode.usage;
  else {
    const fault = thrown instanceof Fault ? thrown : toHomeFault(thrown, home.folder);
    if (!fault) throw thrown;
    terminal.err(`moor: ${fault.message}\n`);
    process.exitCode = exitCode.refused;
  }
} finally {
  clearInterval(alive);
}

/** Loaded on demand: it brings the whole control plane into this process. */
async function runEphemeral(options: EphemeralOptions): Promise<ExitCode> {
  const ephemeral = await import('./ephemeral.js');
  return ephemeral.runEphemeral(home, options, terminal);
}

function parseNodeCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_NODES) return count;
  throw new InvalidArgumentError(`Must be a whole number from 1 to ${MOST_NODES}.`);
}
