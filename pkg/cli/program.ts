import { Command as Commander, CommanderError, Option } from 'commander';

import { addAdmin } from './admin.js';
import { outputOption, parseCount, parseDurationOption } from './arguments.js';
import type { ConnectionFlags } from './connection.js';
import { type ExitCode, exitCode, exitCodeMeanings } from './exit-code.js';
import type { OutputFormat } from './print/text.js';
import { type Command, openSession, type Run } from './session.js';
import type { Terminal } from './terminal.js';
import { version } from '../version/index.js';

type Options = Readonly<Record<string, never>>;

/**
 * The command line, as commander sees it.
 *
 * A command's own code is loaded when the command runs, so that no command waits for the code of another.
 * `finished` gets the exit code.
 */
export function createProgram(terminal: Terminal, finished: (code: ExitCode) => void): Commander {
  const program = new Commander('moor')
    .description('Declare deployments and watch them run.')
    .version(version(), '-V, --version')
    .option('--server <url>', 'address of the API server (MOORING_SERVER)')
    .option('--token-file <path>', 'file that holds the token (MOORING_TOKEN, MOORING_TOKEN_FILE)')
    .option('--ca-file <path>', 'certificate authority of the server (MOORING_CA_FILE)')
    .option('--tenant <id>', 'tenant to act for, when the token is an administrator’s')
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .exitOverride()
    .showHelpAfterError('(moor --help lists the commands)')
    .addHelpText('after', () => HELP_FOOTER);

  const run = async <Input>(load: () => Promise<Command<Input>>, input: Input): Promise<void> => {
    const session = openSession(terminal, program.opts<ConnectionFlags>());
    try {
      const command = await load();
      finished(await command(session, input));
    } finally {
      session.close();
    }
  };
  addReading(program, run);
  addWriting(program, run);
  addNodes(program, run);
  addAccess(program, run);
  addAdmin(program, run);
  addSelf(program, run);
  return program;
}

function addReading(program: Commander, run: Run): void {
  program
    .command('get <kind> [name]')
    .description('list deployments, nodes, events, tenants or tokens, or show one')
    .addOption(outputOption())
    .action((kind: string, name: string | undefined, { output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/get.js')).get, {
        kind,
        output,
        ...(name === undefined ? {} : { name }),
      }),
    );
  program
    .command('describe <kind> <name>')
    .description('show a deployment or a node with spec, conditions, placements, events and reasons')
    .action((kind: string, name: string) =>
      run(async () => (await import('./commands/describe.js')).describe, { kind, name }),
    );
  program
    .command('status <name>')
    .description('show the status of a deployment')
    .option('-w, --watch', 'keep printing changes as they happen')
    .option('--until-ready', 'follow until every replica is up to date and ready, then exit')
    .option('--timeout <duration>', 'give up after this long, such as 90s or 5m', parseDurationOption)
    .action((name: string, options: Options) =>
      run(async () => (await import('./commands/status.js')).status, {
        name,
        watch: Boolean(options['watch']),
        untilReady: Boolean(options['untilReady']),
        timeoutMs: options['timeout'],
      }),
    );
  program
    .command('events')
    .description('list events')
    .option('-w, --watch', 'keep printing changes as they happen')
    .option('--type <type>', 'only this type, such as deployment.running')
    .option('--subject <name>', 'only events of this deployment or node')
    .addOption(outputOption())
    .action((options: Options) =>
      run(async () => (await import('./commands/get.js')).listEvents, {
        watch: Boolean(options['watch']),
        type: options['type'],
        subject: options['subject'],
        output: options['output'] as unknown as OutputFormat,
      }),
    );
  program
    .command('logs [name]')
    .description('print the output of a deployment’s containers')
    .option('-f, --follow', 'keep printing new output')
    .option('--no-follow', 'with --controllers: do not follow')
    .option('--tail <lines>', 'begin with the last lines', parseCount)
    .option('--replica <number>', 'only this replica', parseCount)
    .option('--controllers <loop>', 'instead: follow the log of one loop of "moor up", such as scheduler')
    .action((name: string | undefined, options: Options) =>
      run(async () => (await import('./commands/logs.js')).logs, {
        name,
        follow: options['follow'],
        tail: options['tail'],
        replica: options['replica'],
        controllers: options['controllers'],
      }),
    );
  program
    .command('explain <what> [name]')
    .description('explain a rejection code and how to fix it; or, with "deployment <name>", its placement')
    .action((what: string, name?: string) =>
      name === undefined
        ? run(async () => (await import('./commands/explain.js')).explain, { code: what })
        : run(async () => (await import('./commands/explain.js')).explainPlacement, { kind: what, name }),
    );
}

function addWriting(program: Commander, run: Run): void {
  program
    .command('apply')
    .description('create or update the objects of files: YAML or JSON, several objects in a file, - for standard input')
    .requiredOption('-f, --file <path...>', 'file to read')
    .option('--dry-run', 'print what would happen, and change nothing')
    .option('--fix', 'show the fixes that the server proposes, and apply them after a yes')
    .option('-y, --yes', 'with --fix: do not ask')
    .action(({ file, dryRun, fix, yes }: { file: string[]; dryRun?: true; fix?: true; yes?: true }) =>
      run(async () => (await import('./commands/apply.js')).apply, {
        files: file,
        dryRun: Boolean(dryRun),
        fix: Boolean(fix),
        yes: Boolean(yes),
      }),
    );
  program
    .command('diff')
    .description('show what applying files would change; exits with 1 when something would, with more on failure')
    .requiredOption('-f, --file <path...>', 'file to read')
    .action(({ file }: { file: string[] }) =>
      run(async () => (await import('./commands/diff.js')).diff, { files: file }),
    );
  program
    .command('scale')
    .description('change the number of replicas')
    .argument('<name>', 'name of the deployment')
    .argument('<replicas>', 'number of replicas', parseCount)
    .action((name: string, replicas: number) =>
      run(async () => (await import('./commands/apply.js')).scale, { name, replicas }),
    );
  program
    .command('rotate <name>')
    .description('rotate a secret of a deployment, phase by phase; without options, show the state of its rotation')
    .option('--phase <phase>', 'the phase to ask for: stage, promote, verify, retire or abort')
    .option('--auto', 'walk through all phases, and stop at the first problem')
    .option('--secret <label>', 'label of the secret, where the deployment refers to several')
    .option('--values <path>', 'with the phase stage: file with the new values as a map, - for standard input')
    .option('--timeout <duration>', 'with --auto: give up after this long', parseDurationOption)
    .option(
      '--patience <duration>',
      'with --auto: stop when nothing has changed for this long (default: 1m)',
      parseDurationOption,
    )
    .action((name: string, options: Options) =>
      run(async () => (await import('./commands/rotate.js')).rotateSecret, {
        name,
        phase: options['phase'],
        auto: Boolean(options['auto']),
        secret: options['secret'],
        values: options['values'],
        timeoutMs: options['timeout'],
        patienceMs: options['patience'],
      }),
    );
  program
    .command('delete <kind> <name>')
    .description('delete a deployment and wait until its containers are gone')
    .option('--no-wait', 'do not wait')
    .option('--timeout <duration>', 'give up waiting after this long', parseDurationOption)
    .action((kind: string, name: string, { wait, timeout }: { wait: boolean; timeout?: number }) =>
      run(async () => (await import('./commands/delete.js')).deleteObject, { kind, name, wait, timeoutMs: timeout }),
    );
}

function addNodes(program: Commander, run: Run): void {
  const nodes = program.command('nodes').description('manage the machines that run containers');
  const order = async () => (await import('./commands/node-order.js')).orderNode;
  const atOnce = { wait: false, timeoutMs: undefined };
  nodes.command('list').description('list all').addOption(outputOption()).action(listing(run, 'nodes'));
  nodes
    .command('join-token')
    .description('mint a token with which one machine may enrol')
    .option('--name <node>', 'the only name it may enrol under')
    .addOption(outputOption())
    .action((options: { name?: string; output: OutputFormat }) =>
      run(async () => (await import('./commands/access.js')).createJoinToken, options),
    );
  nodes
    .command('drain <name>')
    .description('empty a node: its replicas are started elsewhere first')
    .option('--wait', 'wait until no replica is left on it')
    .option('--timeout <duration>', 'with --wait: give up waiting after this long', parseDurationOption)
    .action((name: string, { wait = false, timeout }: { wait?: boolean; timeout?: number }) =>
      run(order, { order: 'drain', name, wait, timeoutMs: timeout }),
    );
  nodes
    .command('undrain <name>')
    .description('make a node schedulable again')
    .action((name: string) => run(order, { order: 'undrain', name, ...atOnce }));
  nodes
    .command('fence <name>')
    .description('confirm that the machine is off: its replicas are started elsewhere at once')
    .action((name: string) => run(order, { order: 'fence', name, ...atOnce }));
}

function addAccess(program: Commander, run: Run): void {
  const access = () => import('./commands/access.js');

  const tenants = program.command('tenants').description('manage tenants (needs an administrator’s token)');
  tenants.command('list').description('list all').addOption(outputOption()).action(listing(run, 'tenants'));
  tenants
    .command('create <name>')
    .description('create a tenant')
    .action((name: string) => run(async () => (await access()).createTenant, { name }));

  const tokens = program.command('tokens').description('manage the tokens of a tenant');
  tokens.command('list').description('list all').addOption(outputOption()).action(listing(run, 'tokens'));
  tokens
    .command('create')
    .description('mint a token')
    .addOption(
      new Option('--role <role>', 'role of the token').choices(['viewer', 'deployer', 'admin']).default('deployer'),
    )
    .option('--description <text>', 'what it is for')
    .option('--expires <duration>', 'how long it is valid, such as 720h', parseDurationOption)
    .action((options: { role: string; description?: string; expires?: number }) =>
      run(async () => (await access()).createToken, {
        role: options.role,
        description: options.description,
        expiresInSeconds: options.expires === undefined ? undefined : Math.round(options.expires / 1000),
        tenant: program.opts<ConnectionFlags>().tenant,
      }),
    );
  tokens
    .command('revoke <id>')
    .description('revoke a token at once')
    .action((id: string) => run(async () => (await access()).revokeToken, { id }));
}

function addSelf(program: Commander, run: Run): void {
  program
    .command('config')
    .description('print every setting of the servers, its value, and where it was read')
    .option('--config <path>', 'configuration file (MOORING_CONFIG)')
    .addOption(outputOption())
    .action((options: { config?: string; output: OutputFormat }) =>
      run(async () => (await import('./commands/config.js')).config, { file: options.config, output: options.output }),
    );
  program
    .command('version')
    .description('print the version of this command')
    .action(() => run(async () => (await import('./commands/config.js')).printVersion, {}));
  program
    .command('completion <shell>')
    .description('print the completion script for bash or zsh: source <(moor completion bash)')
    .action((shell: string) =>
      run(async () => (await import('./commands/completion.js')).completion, { shell, program }),
    );
}

function listing(run: Run, kind: string) {
  return ({ output }: { output: OutputFormat }) =>
    run(async () => (await import('./commands/get.js')).get, { kind, output });
}

/** The exit code for an error of commander. Asking for help is no error. */
export function toUsageExitCode({ exitCode: code }: CommanderError): ExitCode {
  return code === 0 ? exitCode.ok : exitCode.usage;
}

const HELP_FOOTER = `
The servers, each with its own --help:
  up, down               everything on this machine, for development
  server                 the API server
  controllers            the reconcile loops
  agent                  the agent of one node

Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`).join('\n')}
`;
