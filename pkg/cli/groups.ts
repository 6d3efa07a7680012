import { type Command as Commander, Option } from 'commander';

import type { ConnectionFlags } from '../terminal/index.js';
import { addList, type Options, outputOption, parseCount, parseDurationOption, type Run } from './options.js';
import type { OutputFormat } from './print/text.js';
import { addVolumes } from './volume-group.js';

/** Adds the commands that stand in groups, each named after what it manages: `moor secrets write`. */
export function addGroups(program: Commander, run: Run): void {
  addRollout(program, run);
  addCanary(program, run);
  addSecrets(program, run);
  addNodes(program, run);
  addNetworks(program, run);
  addVolumes(program, run);
  addBackups(program, run);
  addAccess(program, run);
}

/** Deletes an object by its descriptor: the same as "moor delete" of its kind. */
function remove(run: Run, kind: string, name: string): Promise<void> {
  return run(async () => (await import('./commands/delete.js')).deleteObject, { kind, name, wait: false });
}

function addRollout(program: Commander, run: Run): void {
  const commands = () => import('./commands/rollout.js');
  const rollout = program
    .command('rollout')
    .description('follow and steer how a changed deployment replaces containers');
  rollout
    .command('status <name>')
    .description('show how far it is and what it waits for')
    .option('-w, --watch', 'until it is complete, or has failed (exit code 1)')
    .option('--timeout <duration>', 'give up after this long', parseDurationOption)
    .action((name: string, options: Options) => run(async () => (await commands()).showRollout, { name, ...options }));
  rollout
    .command('pause <name>')
    .description('replace no more containers until it is resumed')
    .action((name: string) => run(async () => (await commands()).pauseRollout, { name, paused: true }));
  rollout
    .command('resume <name>')
    .description('continue a paused rollout')
    .action((name: string) => run(async () => (await commands()).pauseRollout, { name, paused: false }));
  rollout
    .command('undo <name>')
    .description('bring an earlier revision back, as a new one')
    .option('--to-revision <number>', 'this one; default: the newest with other containers', parseCount)
    .action((name: string, options: Options) => run(async () => (await commands()).undoRollout, { name, ...options }));
  rollout
    .command('history <name>')
    .description('list the revisions of a deployment, the newest first')
    .action((name: string) => run(async () => (await commands()).listRollouts, { name }));
  for (const parent of [rollout, program]) {
    parent
      .command('restart <name>')
      .description('replace every container of a deployment, within the bounds of its rollout')
      .action((name: string) => run(async () => (await commands()).restartDeployment, { name }));
  }
}

function addCanary(program: Commander, run: Run): void {
  const commands = () => import('./commands/rollout.js');
  const canary = program
    .command('canary')
    .description('decide about the new template that runs on a few replicas first');
  canary
    .command('promote <name>')
    .description('let the rest of the replicas follow')
    .action((name: string) => run(async () => (await commands()).orderCanary, { name, action: 'promote' as const }));
  canary
    .command('abort <name>')
    .description('go back to the template that was complete last, as a new revision')
    .action((name: string) => run(async () => (await commands()).orderCanary, { name, action: 'abort' as const }));
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
    .action((path: string) => remove(run, 'secret', path));
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
    .option('--wait', 'wait until no replica and no primary of a replicated volume is left on it')
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

function addNetworks(program: Commander, run: Run): void {
  const networks = program.command('networks').description('manage the networks that deployments join');
  addList(networks, run);
  networks
    .command('create <name>')
    .description('create a network on a node')
    .option('--node <name>', 'its node, by name or id; not needed where there is only one')
    .option('--internal', 'without a way out: only its own containers can be reached')
    .option('--label <key=value...>', 'labels of it')
    .option('--dry-run', 'print what would happen, and change nothing')
    .action((name: string, options: Options) =>
      run(async () => (await import('./commands/networks.js')).createNetwork, { name, ...options }),
    );
  networks
    .command('delete <name>')
    .description('delete a network; refused while something joins it')
    .action((name: string) => remove(run, 'network', name));
}

function addBackups(program: Commander, run: Run): void {
  const commands = () => import('./commands/backups.js');
  const backup = program.command('backup').description('keep copies of the configuration of deployments');
  addList(backup, run);
  backup
    .command('create <name>')
    .description('copy the configuration of a deployment with its history')
    .action((name: string) => run(async () => (await commands()).createBackup, { name }));
  backup
    .command('restore <id>')
    .description('bring it back, whether the deployment exists, was changed or was deleted')
    .option('--dry-run', 'print what would happen, and change nothing')
    .action((id: string, options: Options) =>
      run(async () => (await commands()).restoreFromBackup, { id, ...options }),
    );
  backup
    .command('export <id>')
    .description('print it as the file that an import takes')
    .option('-f, --file <path>', 'write it to this file instead')
    .action((id: string, options: Options) => run(async () => (await commands()).exportBackup, { id, ...options }));
  backup
    .command('import <path>')
    .description('store a backup from a file, of this installation or of another; - for standard input')
    .action((file: string) => run(async () => (await commands()).importBackup, { file }));
  backup
    .command('delete <id>')
    .description('delete it')
    .action((id: string) => remove(run, 'backup', id));
}

function addAccess(program: Commander, run: Run): void {
  const access = () => import('./commands/access.js');

  const tenants = program.command('tenants').description('manage tenants (needs an administrator’s token)');
  addList(tenants, run);
  tenants
    .command('create <name>')
    .description('create a tenant')
    .action((name: string) => run(async () => (await access()).createTenant, { name }));
  tenants
    .command('delete <tenant>')
    .description('delete a tenant, by id or name, that has nothing left')
    .option('--cascade', 'show everything that it has, and delete that first')
    .option('-y, --yes', 'with --cascade: do not ask')
    .option('--timeout <duration>', 'give up after this long, such as 90s or 5m', parseDurationOption)
    .action((tenant: string, options: Options) =>
      run(async () => (await import('./commands/tenants.js')).deleteTenant, { name: tenant, ...options }),
    );

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
