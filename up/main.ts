import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

import { exitCode, homeFolder, processTerminal } from '../pkg/cli/index.js';
import { down } from './down.js';
import { Home } from './home.js';
import type { EngineKind } from './plan.js';
import { up } from './up.js';

const MOST_NODES = 20;

const terminal = processTerminal();
const home = new Home(homeFolder(process.env));

const program = new Command('moor').description('Mooring, all in one, on this machine').exitOverride();

program
  .command('up')
  .description('start everything on loopback, or bring what runs into line with what is asked now')
  .option('--nodes <count>', 'agents to run, each a node of its own (default: as before, else 1)', countOfNodes)
  .addOption(
    new Option('--engine <engine>', 'what runs containers (default: as before, else docker)').choices([
      'docker',
      'simulated',
    ]),
  )
  .option('--ephemeral', 'everything in this one process, in memory: nothing survives it')
  .option('--no-demo', 'do not deploy the demo')
  .option('--foreground', 'stay, and stop everything on Ctrl-C')
  .action(
    async (options: { nodes?: number; engine?: EngineKind; ephemeral?: true; demo: boolean; foreground?: true }) => {
      process.exitCode = await up(
        home,
        { nodes: options.nodes, engine: options.engine, demo: options.demo, foreground: options.foreground ?? false },
        terminal,
      );
    },
  );

program
  .command('down')
  .description('stop everything that "moor up" started')
  .option('--purge', 'remove its data too')
  .action(async ({ purge }: { purge?: true }) => {
    process.exitCode = await down(home, { purge: purge ?? false }, terminal);
  });

// Timers of the clock do not keep a process alive; these commands wait a lot.
const alive = setInterval(() => undefined, 2 ** 30);
try {
  await program.parseAsync();
} catch (thrown) {
  if (!(thrown instanceof CommanderError)) throw thrown;
  process.exitCode = thrown.exitCode === 0 ? exitCode.ok : exitCode.usage;
} finally {
  clearInterval(alive);
}

function countOfNodes(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_NODES) return count;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_NODES}.`);
}
