import { Command } from 'commander';

import { formatBytes, formatCount } from '../../../crds/grammar/index.js';
import { asError } from '../../fault/index.js';
import { readProcessTable } from '../process-table.js';
import { restoreRemoved, toVolumesPath } from './restore-removed.js';
import { listRemoved } from '../volumes/removed-record.js';

interface StateOption {
  readonly stateDir: string;
}

/** Runs `moor agent volumes …`: what is kept here of removed volumes. It asks no server: that may be what was lost. */
export async function runRemovedCommand(argv: readonly string[]): Promise<void> {
  const command = new Command('moor agent volumes').description('removed volumes that are still on this machine');
  const add = (words: string, description: string) =>
    command
      .command(words)
      .description(description)
      .option('--state-dir <folder>', 'the state folder of the agent', '/var/lib/mooring');
  add('list', 'list them, the one that was removed first at the top').action(list);
  add('restore <name>', 'bring one back, with all that it held; the agent must not run').action(restore);
  try {
    await command.parseAsync(argv, { from: 'user' });
  } catch (thrown) {
    process.stderr.write(`moor: ${asError(thrown).message}\n`);
    process.exitCode = 1;
  }
}

async function list({ stateDir }: StateOption): Promise<void> {
  for (const { name, volume = '-', bytes = 0, keptMs } of await listRemoved(toVolumesPath(stateDir))) {
    process.stdout.write(
      `${name}  ${volume}  ${formatBytes(bytes)}  kept for ${formatCount(Math.floor(keptMs / 60_000), 'minute')}\n`,
    );
  }
}

async function restore(name: string, { stateDir }: StateOption): Promise<void> {
  const folder = await restoreRemoved(stateDir, name, readProcessTable());
  process.stdout.write(`${name} is back at ${folder}: start the agent, which makes it usable\n`);
}
