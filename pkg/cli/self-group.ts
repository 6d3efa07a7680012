import { type Command as Commander, Option } from 'commander';

import { outputOption, type Run } from './options.js';
import type { OutputFormat } from './print/text.js';

/** Commands about the installation itself. */
export function addSelf(program: Commander, run: Run): void {
  program
    .command('doctor')
    .description(
      'look at server, etcd, nodes, engine, clock, certificates, disk, ports and firewall; exits with 1 on a problem',
    )
    .option('--config <path>', 'settings of the servers (MOORING_CONFIG); default: those of the server in use')
    .option('--docker-host <address>', 'where the container engine of this machine listens (DOCKER_HOST)')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['table', 'json', 'yaml']).default('table'))
    .option('--json', 'the same as -o json')
    .action((options: { output: 'table' | 'json' | 'yaml' }) =>
      run(async () => (await import('./commands/doctor.js')).doctor, options),
    );
  program
    .command('config')
    .description('print every setting of the servers, its value, and where it was read')
    .option('--config <path>', 'configuration file (MOORING_CONFIG)')
    .option('--running', 'instead: those that the API server in use runs with (needs an administrator’s token)')
    .addOption(outputOption())
    .action((options: { output: OutputFormat }) =>
      run(async () => (await import('./commands/config.js')).config, options),
    );
  program
    .command('kubeconfig')
    .description('print a kubeconfig with which kubectl acts for the tenant: moor kubeconfig > mooring.kubeconfig')
    .action(() => run(async () => (await import('./commands/kubeconfig.js')).kubeconfig, {}));
  program
    .command('version')
    .description('print the version of this command')
    .action(() => run(async () => (await import('./commands/config.js')).printVersion, {}));
  program
    .command('man')
    .description('print the manual page: moor man | man -l -')
    .action(() => run(async () => (await import('./commands/man.js')).man, { program }));
  program
    .command('completion <shell>')
    .description('print the completion script for bash or zsh: source <(moor completion bash)')
    .action((shell: string) =>
      run(async () => (await import('./commands/completion.js')).completion, { shell, program }),
    );
}
