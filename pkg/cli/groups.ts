import { type Command as Commander, Option } from 'commander';

import type { ConnectionFlags } from './connection.js';
import { type Options, outputOption, parseCount, parseDurationOption, type Run } from './options.js';
import type { OutputFormat } from './print/text.js';

/** Adds the commands that stand in groups, each named after what it manages: `moor secrets write`. */
export function addGroups(program: Commander, run: Run): void {
  addSecrets(program, run);
  addNodes(program, run);
  addAccess(program, run);
}

function addSecrets(program: Commander, run: Run): void {
  const commands = () => import('./commands/secrets.js');
  const secrets = program.command('secrets').description('manage credentials: names of keys are shown, values never');
  const valued = (command: Commander) =>
    command
      .option('--values <path>', 'file with a map of keys and values, - for standard input')
      .option('--from <key=path...>', 'a key and the file that holds its value, - for standard input');
  addList(secrets, run);
  secrets
    .command('show <path>')
    .description('show the names of its keys, its version and its consumers')
    .action((path: string) => run(async () => (await commands()).showCredential, { path }));
  valued(secrets.command('write <path>'))
    .description('write its next version, from files or standard input; keys that are left out are gone from it')
    .action((path: string, options: Options) =>
      run(async () => (await commands()).writeCredential, { path, ...options }),
    );
  valued(secrets.command('generate <path> <keys...>'))
    .description('write its next version with values that the server draws')
    .option('--bytes <count>', 'draw this many bytes', parseCount)
    .option('--encoding <name>', 'how bytes are written: hex, base64 or base64url')
    .option('--length <count>', 'draw this many characters instead', parseCount)
    .option('--charset <name>', 'characters to draw from: alphanumeric, urlsafe or symbols')
    .action((path: string, keys: readonly string[], options: Options) =>
      run(async () => (await commands()).generateCredential, { path, keys, ...options }),
    );
  secrets
    .command('delete <path>')
    .description('destroy it with all its versions; refused while a deployment refers to it')
    .action((path: string) => run(async () => (await commands()).deleteCredential, { path }));
  secrets
    .command('consumers <path>')
    .description('list the deployments that refer to it, and the keys that they use')
    .action((path: string) => run(async () => (await commands()).listCredentialConsumers, { path }));
}

function addNodes(program: Commander, run: Run): void {
  const nodes = program.command('nodes').description('manage the machines that run containers');
  const order = async () => (await import('./commands/node-order.js')).orderNode;
  addList(nodes, run);
  nodes
    .command('join-token')
    .description('mint a token with which one machine may enrol')
    .option('--name <node>', 'the only name it may enrol under')
    .addOption(outputOption())
    .action((options: { output: OutputFormat }) =>
      run(async () => (await import('./commands/access.js')).createJoinToken, options),
    );
  nodes
    .command('drain <name>')
    .description('empty a node: its replicas are started elsewhere first')
    .option('--wait', 'wait until no replica is left on it')
    .option('--timeout <duration>', 'with --wait: give up waiting after this long', parseDurationOption)
    .action((name: string, options: Options) => run(order, { order: 'drain', name, ...options }));
  nodes
    .command('undrain <name>')
    .description('make a node schedulable again')
    .action((name: string) => run(order, { order: 'undrain', name }));
  nodes
    .command('fence <name>')
    .description('confirm that the machine is off: its replicas are started elsewhere at once')
    .action((name: string) => run(order, { order: 'fence', name }));
}

function addAccess(program: Commander, run: Run): void {
  const access = () => import('./commands/access.js');

  const tenants = program.command('tenants').description('manage tenants (needs an administrator’s token)');
  addList(tenants, run);
  tenants
    .command('create <name>')
    .description('create a tenant')
    .action((name: string) => run(async () => (await access()).createTenant, { name }));

  program
    .command('quotas')
    .description('show what a tenant may have, and how much of it is used')
    .addOption(outputOption())
    .action(({ output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/quotas.js')).quotas, {
        output,
        tenant: program.opts<ConnectionFlags>().tenant,
      }),
    );

  const tokens = program.command('tokens').description('manage the tokens of a tenant');
  addList(tokens, run);
  tokens
    .command('create')
    .description('mint a token')
    .addOption(
      new Option('--role <role>', 'role of the token').choices(['viewer', 'deployer', 'admin']).default('deployer'),
    )
    .option('--description <text>', 'what it is for')
    .option('--expires <duration>', 'how long it is valid, such as 720h', parseDurationOption)
    .action((options: { role: string }) =>
      run(async () => (await access()).createToken, { ...options, tenant: program.opts<ConnectionFlags>().tenant }),
    );
  tokens
    .command('revoke <id>')
    .description('revoke a token at once')
    .action((id: string) => run(async () => (await access()).revokeToken, { id }));
}

function addList(group: Commander, run: Run): void {
  group
    .command('list')
    .description('list all')
    .addOption(outputOption())
    .action(({ output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/get.js')).get, { kind: group.name(), output }),
    );
}
