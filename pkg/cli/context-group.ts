import type { Command as Commander } from 'commander';

import type { ConnectionFlags } from '../terminal/index.js';
import { outputOption, type Run } from './options.js';
import type { OutputFormat } from './print/text.js';

/** `moor login` and `moor context`: which server, and as whom. */
export function addContexts(program: Commander, run: Run): void {
  program
    .command('login')
    .description(
      'sign in to a server: asks for a token, or reads it from --token-file or standard input, and keeps it as a context',
    )
    .action(() => run(async () => (await import('./commands/login.js')).login, program.opts<ConnectionFlags>()));

  const commands = () => import('./commands/contexts.js');
  const group = program.command('context').description('choose between the servers and tokens of "moor login"');
  group
    .command('list', { isDefault: true })
    .description('list all, the current one marked')
    .addOption(outputOption())
    .action(({ output }: { output: OutputFormat }) => run(async () => (await commands()).listContexts, { output }));
  group
    .command('use <name>')
    .description('make it the current one; "development" is the server of "moor up" on this machine')
    .action((name: string) => run(async () => (await commands()).useContext, { name }));
  group
    .command('rename <name> <to>')
    .description('give it another name')
    .action((name: string, to: string) => run(async () => (await commands()).renameContext, { name, to }));
  group
    .command('delete <name>')
    .description('forget it with its token, which stays valid')
    .action((name: string) => run(async () => (await commands()).deleteContext, { name }));
}
