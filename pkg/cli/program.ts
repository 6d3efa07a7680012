import { Command as Commander, CommanderError, Option } from 'commander';

import { addAdmin } from './admin.js';
import { count, duration, outputOption } from './arguments.js';
import type { ConnectionFlags } from './connection.js';
import { type ExitCode, exitCode, exitCodeMeanings } from './exit-code.js';
import type { Format } from './print/document.js';
import { type Command, openSession, type Run } from './session.js';
import type { Terminal } from './terminal.js';
import { version } from '../version/index.js';

type Options = Readonly<Record<string, never>>;

/**
 * The command line, as commander sees it.
 *
 * A command's own code is loaded when the command runs, so that the quickest one does not wait for the rest.
 * `finished` is told what a command came to.
 */
export function createProgram(terminal: Terminal, finished: (code: ExitCode) => void): Commander {
  const program = new Commander('moor')
    .description('Declare deployments, see them run.')
    .version(version(), '-V, --version')
    .option('--server <url>', 'address of the API server (MOORING_SERVER)')
    .option('--token-file <path>', 'file that holds the token (MOORING_TOKEN, MOORING_TOKEN_FILE)')
    .option('--ca-file <path>', 'certificate authority of the server (MOORING_CA_FILE)')
    .option('--tenant <id>', 'tenant to act for, when the token is an administrator’s')
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .exitOverride()
    .showHelpAfterError('(moor --help shows what there is)')
    .addHelpText('after', () => afterwards);

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
    .action((kind: string, name: string | undefined, { output }: { output: Format }) =>
      run(async () => (await import('./commands/get.js')).get, {
        kind,
        output,
        ...(name === undefined ? {} : { name }),
      }),
    );
  program
    .command('describe <kind> <name>')
    .description('everything about a deployment or a node: spec, conditions, placements, events, reasons')
    .action((kind: string, name: string) =>
      run(async () => (await import('./commands/describe.js')).describe, { kind, name }),
    );
  program
    .command('status <name>')
    .description('how a deployment is doing')
    .option('-w, --watch', 'go on as a live tail')
    .option('--until-ready', 'follow until every replica is up to date and ready, then exit')
    .option('--timeout <duration>', 'give up after this long, such as 90s or 5m', duration)
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
    .description('what happened')
    .option('-w, --watch', 'go on as a live tail')
    .option('--type <type>', 'only this type, such as deployment.running')
    .option('--subject <name>', 'only about this deployment or node')
    .addOption(outputOption())
    .action((options: Options) =>
      run(async () => (await import('./commands/events.js')).events, {
        watch: Boolean(options['watch']),
        type: options['type'],
        subject: options['subject'],
        output: options['output'] as unknown as Format,
      }),
    );
  program
    .command('logs [name]')
    .description('what a deployment’s containers print')
    .option('-f, --follow', 'go on as it is printed')
    .option('--no-follow', 'with --controllers: do not go on')
    .option('--tail <lines>', 'begin with the last lines only', count)
    .option('--replica <number>', 'only this replica', count)
    .option('--controllers <loop>', 'instead: follow what one loop of the all-in-one logs, such as scheduler')
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
    .description('what a rejection code means and how to mend it; or, of "deployment <name>", why it is where it is')
    .action((what: string, name?: string) =>
      name === undefined
        ? run(async () => (await import('./commands/explain.js')).explain, { code: what })
        : run(async () => (await import('./commands/explain-placement.js')).explainPlacement, { kind: what, name }),
    );
}

function addWriting(program: Commander, run: Run): void {
  program
    .command('apply')
    .description('make the server hold what files say: YAML or JSON, several objects in a file, - for standard input')
    .requiredOption('-f, --file <path...>', 'file to read')
    .option('--dry-run', 'say what would happen, and let nothing happen')
    .option('--fix', 'show the mends that the server is certain of, and apply them after a yes')
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
    .description('show what applying files would change; exits with 1 when something would, and above when in doubt')
    .requiredOption('-f, --file <path...>', 'file to read')
    .action(({ file }: { file: string[] }) =>
      run(async () => (await import('./commands/diff.js')).diff, { files: file }),
    );
  program
    .command('scale')
    .description('ask for another number of replicas')
    .argument('<name>', 'which deployment')
    .argument('<replicas>', 'how many', count)
    .action((name: string, replicas: number) =>
      run(async () => (await import('./commands/scale.js')).scale, { name, replicas }),
    );
  program
    .command('rotate <name>')
    .description('replace a secret of a deployment, phase by phase; without options, show how far that is')
    .option('--phase <phase>', 'the phase to ask for: stage, promote, verify, retire or abort')
    .option('--auto', 'walk through all phases, and stop at the first trouble')
    .option('--secret <label>', 'which one, where the deployment refers to several')
    .option('--values <path>', 'with the phase stage: file with the new values as a map, - for standard input')
    .option('--timeout <duration>', 'with --auto: give up after this long', duration)
    .option('--patience <duration>', 'with --auto: stop when nothing has moved for this long; 1m unless told', duration)
    .action((name: string, options: Options) =>
      run(async () => (await import('./commands/rotate.js')).rotate, {
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
    .option('--timeout <duration>', 'give up waiting after this long', duration)
    .action((kind: string, name: string, { wait, timeout }: { wait: boolean; timeout?: number }) =>
      run(async () => (await import('./commands/delete.js')).deleteObject, { kind, name, wait, timeoutMs: timeout }),
    );
}

function addNodes(program: Commander, run: Run): void {
  const nodes = program.command('nodes').description('machines that run containers');
  const order = async () => (await import('./commands/node-order.js')).orderNode;
  const atOnce = { wait: false, timeoutMs: undefined };
  nodes.command('list').description('list them').addOption(outputOption()).action(listing(run, 'nodes'));
  nodes
    .command('join-token')
    .description('mint a token with which one machine may enrol')
    .option('--name <node>', 'the only name it may enrol under')
    .addOption(outputOption())
    .action((options: { name?: string; output: Format }) =>
      run(async () => (await import('./commands/access.js')).createJoinToken, options),
    );
  nodes
    .command('drain <name>')
    .description('have one emptied: what is on it is started elsewhere first')
    .option('--wait', 'until nothing is left on it')
    .option('--timeout <duration>', 'with --wait: give up waiting after this long', duration)
    .action((name: string, { wait = false, timeout }: { wait?: boolean; timeout?: number }) =>
      run(order, { order: 'drain', name, wait, timeoutMs: timeout }),
    );
  nodes
    .command('undrain <name>')
    .description('let one take work again')
    .action((name: string) => run(order, { order: 'undrain', name, ...atOnce }));
  nodes
    .command('fence <name>')
    .description('vouch that the machine is off: what was on it is started elsewhere at once')
    .action((name: string) => run(order, { order: 'fence', name, ...atOnce }));
}

function addAccess(program: Commander, run: Run): void {
  const access = () => import('./commands/access.js');

  const tenants = program.command('tenants').description('who deploys here (needs an administrator’s token)');
  tenants.command('list').description('list them').addOption(outputOption()).action(listing(run, 'tenants'));
  tenants
    .command('create <name>')
    .description('make one')
    .action((name: string) => run(async () => (await access()).createTenant, { name }));

  const tokens = program.command('tokens').description('what speaks for a tenant');
  tokens.command('list').description('list them').addOption(outputOption()).action(listing(run, 'tokens'));
  tokens
    .command('create')
    .description('mint one')
    .addOption(
      new Option('--role <role>', 'what it may do').choices(['viewer', 'deployer', 'admin']).default('deployer'),
    )
    .option('--description <text>', 'what it is for')
    .option('--expires <duration>', 'how long it is valid, such as 720h', duration)
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
    .description('end one at once')
    .action((id: string) => run(async () => (await access()).revokeToken, { id }));
}

function addSelf(program: Commander, run: Run): void {
  program
    .command('config')
    .description('every setting of the servers, its value, and where it was read')
    .option('--config <path>', 'configuration file (MOORING_CONFIG)')
    .addOption(outputOption())
    .action((options: { config?: string; output: Format }) =>
      run(async () => (await import('./commands/config.js')).config, { file: options.config, output: options.output }),
    );
  program
    .command('version')
    .description('the version of this command')
    .action(() => run(async () => (await import('./commands/version.js')).printVersion, {}));
  program
    .command('completion <shell>')
    .description('print the completion script for bash or zsh: source <(moor completion bash)')
    .action((shell: string) =>
      run(async () => (await import('./commands/completion.js')).completion, { shell, program }),
    );
}

function listing(run: Run, kind: string) {
  return ({ output }: { output: Format }) => run(async () => (await import('./commands/get.js')).get, { kind, output });
}

/** What commander's own refusal amounts to. Asking for help is no mistake. */
export function exitCodeOfUsage({ exitCode: code }: CommanderError): ExitCode {
  return code === 0 ? exitCode.ok : exitCode.usage;
}

const afterwards = `
The servers, each with its own --help:
  up, down               everything on this machine, for development
  server                 the API server
  controllers            the reconcile loops
  agent                  the agent of one node

Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`).join('\n')}
`;
