import { Command as Commander, type CommanderError, Option } from 'commander';

import type { Kind } from '../../crds/kind/index.js';
import { readProductVersion } from '../version/index.js';
import {
  type ConnectionFlags,
  type ExitCode,
  exitCode,
  exitCodeHelp,
  UsageFault,
  type Terminal,
} from '../terminal/index.js';
import { addAdmin } from './admin-group.js';
import { addContexts } from './context-group.js';
import { addGroups } from './groups.js';
import { addHelpExamples } from './help-examples.js';
import { addRecommendations } from './recommendation-group.js';
import { type Options, outputOption, parseCount, parseDurationOption, type Run } from './options.js';
import type { OutputFormat } from './print/text.js';
import { addSelf } from './self-group.js';
import { openSession } from './session.js';

/**
 * The command line, as commander sees it.
 *
 * A command's own code is loaded when the command runs, so that no command waits for the code of another.
 * `finished` gets the exit code.
 */
export function createProgram(
  terminal: Terminal,
  finished: (code: ExitCode) => void,
  kinds?: readonly Kind[],
): Commander {
  const program = new Commander('moor')
    .description('Declare deployments and watch them run.')
    .version(readProductVersion(), '-V, --version')
    .option('--server <url>', 'address of the API server (MOORING_SERVER)')
    .option('--token-file <path>', 'file that holds the token (MOORING_TOKEN, MOORING_TOKEN_FILE)')
    .option('--ca-file <path>', 'certificate authority of the server (MOORING_CA_FILE)')
    .option('--tenant <id>', 'tenant to act for, when the token is an administrator’s')
    .option('--context <name>', 'server and token of "moor login" to use instead of the current ones (MOORING_CONTEXT)')
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .exitOverride()
    .showHelpAfterError('(moor --help lists the commands)')
    .addHelpText('after', HELP_FOOTER);

  const run: Run = async (load, input) => {
    const session = openSession(terminal, program.opts<ConnectionFlags>(), kinds);
    try {
      const command = await load();
      finished(await command(session, input));
    } finally {
      session.close();
    }
  };
  addReading(program, run);
  addWriting(program, run);
  addGroups(program, run);
  addRecommendations(program, run);
  addAdmin(program, run);
  addContexts(program, run);
  addSelf(program, run);
  addHelpExamples(program);
  return program;
}

function addReading(program: Commander, run: Run): void {
  program
    .command('get <kind> [name]')
    .description('list the objects of a kind, or of all with "all", or show one')
    .addOption(outputOption())
    .action((kind: string, name: string | undefined, { output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/get.js')).get, { kind, name, output }),
    );
  program
    .command('jobs')
    .description('list the jobs: the same as "get jobs"')
    .addOption(outputOption())
    .action(({ output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/get.js')).get, { kind: 'jobs', output }),
    );
  program
    .command('describe <kind> <name>')
    .description(
      'show one object of any kind with spec, status and events; of a deployment, also why it is not as asked',
    )
    .option('--predecessors', 'also show events of earlier objects of the same name')
    .action((kind: string, name: string, options: Options) =>
      run(async () => (await import('./commands/describe.js')).describe, { kind, name, ...options }),
    );
  program
    .command('status <name>')
    .description('show the status of a deployment')
    .option('-w, --watch', 'keep printing changes as they happen')
    .option('--until-ready', 'follow until every replica is up to date and ready, then exit')
    .option('--timeout <duration>', 'give up after this long, such as 90s or 5m', parseDurationOption)
    .action((name: string, options: Options) =>
      run(async () => (await import('./commands/status.js')).status, { name, ...options }),
    );
  program
    .command('top <what>')
    .description('show what deployments or nodes use: "top deployments", "top nodes"')
    .addOption(outputOption())
    .action((what: string, { output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/autoscale.js')).top, { what, output }),
    );
  program
    .command('events')
    .description('list events')
    .option('-w, --watch', 'keep printing changes as they happen')
    .option('--type <type>', 'only this type, such as deployment.running')
    .option('--subject <name>', 'only events of this deployment or node')
    .addOption(outputOption())
    .action((options: { output: OutputFormat }) =>
      run(async () => (await import('./commands/get.js')).listEvents, options),
    );
  program
    .command('history <name>')
    .description('list the configurations that a deployment has had, also one that was deleted')
    .addOption(outputOption())
    .action((name: string, { output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/history.js')).history, { name, output }),
    );
  program
    .command('logs [name]')
    .description('print the output of a deployment’s containers, or of a job with job/NAME')
    .option('-f, --follow', 'keep printing new output')
    .option('--no-follow', 'with --controllers: do not follow')
    .option('--tail <lines>', 'begin with the last lines', parseCount)
    .option('--since <time>', 'begin at a time: how long ago, such as 10m, or 2026-01-31T10:00:00Z')
    .option('-p, --previous', 'of the last container that was removed, instead of the current one')
    .option('--replica <number>', 'only this replica', parseCount)
    .option('--attempt <number>', 'of a job: this attempt, counted from 1, instead of the last one', parseCount)
    .option('--controllers <loop>', 'instead: follow the log of one loop of "moor up", such as scheduler')
    .action((name: string | undefined, options: Options) =>
      run(async () => (await import('./commands/logs.js')).logs, { name, ...options }),
    );
  program
    .command('explain <what> [name]')
    .description(
      'explain a rejection code or a reason, and what to do; or, with "deployment <name>", why it is not as asked',
    )
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
    .action((options: { file: readonly string[] }) =>
      run(async () => (await import('./commands/apply.js')).apply, options),
    );
  program
    .command('init [name]')
    .description('write the file of a first deployment: by asking, from options, or from what "docker inspect" prints')
    .option('--image <reference>', 'the image, with its version; without it, you are asked')
    .option('--port <port...>', 'a port that it listens on, as 8080, or 8080:80 to be reached at 8080 of the machine')
    .option('-e, --env <pair...>', 'a variable, as NAME=value; credentials belong into secrets')
    .option('--replicas <number>', 'number of replicas', parseCount)
    .option('--cpu <cores>', 'what each replica needs, as 0.25')
    .option('--memory <amount>', 'the most that each replica may use, as 512m')
    .option('--inspect <path>', 'instead: the output of "docker inspect", - for standard input')
    .option('-f, --file <path>', 'the file to write; - prints it (default: NAME.yaml)')
    .option('--force', 'replace the file')
    .action((name: string | undefined, options: Options) =>
      run(async () => (await import('./commands/init.js')).init, { ...(name !== undefined && { name }), ...options }),
    );
  program
    .command('convert <file>')
    .description(
      'print the services of a compose file as deployments, and say what is not carried over; - for standard input',
    )
    .action((file: string) => run(async () => (await import('./commands/convert.js')).convert, { file }));
  program
    .command('diff [name]')
    .description(
      'show what applying files would change, or what was changed since a revision of a deployment; exits with 1 when something differs, with more on failure',
    )
    .option('-f, --file <path...>', 'file to read')
    .option('--revision <number>', 'of the named deployment: since this revision, or between two, such as 3..5')
    .action((name: string | undefined, { file, revision }: { file?: readonly string[]; revision?: string }) => {
      if (file && name === undefined && revision === undefined)
        return run(async () => (await import('./commands/diff.js')).diff, { file });
      if (file || name === undefined || revision === undefined)
        throw new UsageFault('diff takes -f <file>, or the name of a deployment with --revision <number>.');
      return run(async () => (await import('./commands/history.js')).diffRevisions, { name, revision });
    });
  program
    .command('scale')
    .description('change the number of replicas')
    .argument('<name>', 'name of the deployment')
    .argument('<replicas>', 'number of replicas', parseCount)
    .action((name: string, replicas: number) =>
      run(async () => (await import('./commands/apply.js')).scale, { name, replicas }),
    );
  program
    .command('autoscale <name>')
    .description('have load move the number of replicas within bounds; without options, show how it stands')
    .option('--min <replicas>', 'at least so many', parseCount)
    .option('--max <replicas>', 'at most so many', parseCount)
    .option('--cpu <percent>', 'aim at this share of the cpu that replicas request', parseCount)
    .option('--memory <percent>', 'aim at this share of the memory that replicas request', parseCount)
    .option('--stabilization <duration>', 'how long load must be lower before replicas go, such as 5m')
    .option('--off', 'end it: the deployment goes back to the replicas of its spec')
    .option('--dry-run', 'print what would happen, and change nothing')
    .action((name: string, options: Options) =>
      run(async () => (await import('./commands/autoscale.js')).autoscale, { name, ...options }),
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
      'with --auto: stop after this long without a change (default: 1m)',
      parseDurationOption,
    )
    .action((name: string, options: Options) =>
      run(async () => (await import('./commands/rotate.js')).rotateSecret, { name, ...options }),
    );
  program
    .command('run <image> [command...]')
    .description('run a job: print its output and exit with its exit code; arguments of its own follow after --')
    .option('--name <name>', 'name of the job; without one it is removed an hour after its end')
    .option('-e, --env <pair...>', 'a variable, as NAME=value')
    .option('--node <node>', 'the node to run on')
    .addOption(
      new Option('--restart <policy>', 'whether it is tried again when it fails').choices(['Never', 'OnFailure']),
    )
    .option('--retries <number>', 'how often it is tried again (default: 0; 3 with --restart OnFailure)', parseCount)
    .option('--timeout <duration>', 'stop an attempt after this long', parseDurationOption)
    .option('-d, --detach', 'do not wait')
    .action((image: string, command: readonly string[], options: Options) =>
      run(async () => (await import('./commands/run.js')).runImage, { image, command, ...options }),
    );
  program
    .command('delete <kind> <name>')
    .description('delete an object, and wait until its containers or bytes are gone; "moor man" lists the kinds')
    .option('--force', 'of a node whose agent is silent: give up the volumes that only it has')
    .option('--no-wait', 'do not wait')
    .option('--timeout <duration>', 'give up waiting after this long', parseDurationOption)
    .action((kind: string, name: string, options: { wait: boolean }) =>
      run(async () => (await import('./commands/delete.js')).deleteObject, { kind, name, ...options }),
    );
}

/** The exit code for an error of commander. A request for help is no error. */
export function toUsageExitCode({ exitCode: code }: CommanderError): ExitCode {
  return code === 0 ? exitCode.ok : exitCode.usage;
}

const HELP_FOOTER = `
The servers, each with its own --help:
  up, down               everything on this machine, for development
  server                 the API server
  controllers            the reconcile loops
  agent                  the agent of one node
  fencer                 kills what writes to volumes when the agent of one node is silent
  bridge                 objects of a Kubernetes cluster, mirrored into a tenant

Exit codes:
${exitCodeHelp}`;
