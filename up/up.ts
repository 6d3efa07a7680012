import { type ExitCode, exitCode, type Terminal } from '../pkg/cli/index.js';
import { sleep } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { aborted } from './aborted.js';
import { livingSupervisor } from './claim.js';
import { exampleFile, runDemo } from './demo.js';
import type { Home } from './home.js';
import { end, identify, type ProcessIdentity } from './identity.js';
import { startProgram } from './node-program.js';
import type { EngineKind, Plan, Progress } from './plan.js';
import { ProgressPrinter } from './progress-printer.js';
import { stopAll } from './stop-all.js';
import { supervise } from './supervise.js';

const LOOK_EVERY_MS = 100;

export interface UpOptions {
  /** What is not said stays as it is, or takes its default. */
  readonly nodes: number | undefined;
  readonly engine: EngineKind | undefined;
  readonly demo: boolean;
  readonly foreground: boolean;
}

/** Brings everything up on this machine, or into line with what is asked now. */
export async function up(home: Home, options: UpOptions, terminal: Terminal): Promise<ExitCode> {
  home.create();
  const { plan, before } = makePlan(home, options, terminal);
  const running = livingSupervisor(home) !== undefined;
  home.plan.write(plan);
  terminal.out(running ? `Mooring is already running in ${home.folder}\n` : `Starting Mooring in ${home.folder}\n`);
  if (running && before && before.nodes !== plan.nodes) terminal.out(`  nodes: ${before.nodes} → ${plan.nodes}\n`);

  const stop = new AbortController();
  const supervising = running ? undefined : await startSupervisor(home, options, terminal, stop.signal);
  const progress = await follow(home, plan, terminal);
  if (progress?.outcome !== 'up') {
    stop.abort();
    return giveUp(home, progress, supervising, terminal);
  }
  const code = options.demo ? await runDemo(home, terminal) : exitCode.ok;
  if (code === exitCode.ok) terminal.out(nextCommands(home));
  if (!options.foreground || !supervising) return code;

  terminal.out('Ctrl-C stops everything.\n');
  await aborted(terminal.interrupted);
  stop.abort();
  await supervising.ended;
  await stopAll(home, terminal.clock, name => terminal.out(`  stopped ${name}\n`));
  return exitCode.ok;
}

function makePlan(
  home: Home,
  { nodes, engine }: UpOptions,
  { random }: Terminal,
): { plan: Plan; before: Plan | undefined } {
  const before = home.plan.read();
  const plan: Plan = {
    id: random.uuid(),
    nodes: nodes ?? before?.nodes ?? 1,
    engine: engine ?? before?.engine ?? 'docker',
  };
  return { plan, before };
}

/** The supervisor that this command has started. */
interface Supervising {
  readonly ended: Promise<void>;
  /** When it is a process of its own. It may not have had the time yet to say so on disk. */
  readonly identity?: ProcessIdentity;
}

/** In the foreground the supervisor is this process; else it is one that outlives it. */
async function startSupervisor(
  home: Home,
  { foreground }: UpOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Supervising> {
  // The steps that are shown say it all.
  if (foreground)
    return { ended: supervise(home.folder, silentLogger, AbortSignal.any([signal, terminal.interrupted])) };
  const pid = await startProgram({
    main: 'up/supervisor-main.ts',
    words: [home.folder],
    environment: {},
    logFile: home.log('supervisor'),
  });
  const identity = identify(pid);
  return { ended: Promise.resolve(), ...(identity && { identity }) };
}

/** Shows how the plan is carried out. Nothing when the supervisor is gone, or when the person has left. */
async function follow(home: Home, plan: Plan, terminal: Terminal): Promise<Progress | undefined> {
  const { clock, interrupted } = terminal;
  const printer = new ProgressPrinter(terminal);
  const startBy = clock.monotonic() + 15_000;
  try {
    while (!interrupted.aborted) {
      const progress = home.progress.read();
      if (progress?.plan === plan.id) {
        printer.show(progress.steps);
        if (progress.outcome !== 'working') return progress;
      }
      if (clock.monotonic() > startBy && !livingSupervisor(home)) return undefined;
      await sleep(clock, LOOK_EVERY_MS, interrupted);
    }
    return undefined;
  } finally {
    printer.clear();
  }
}

/** A failure leaves nothing behind that was not there before. */
async function giveUp(
  home: Home,
  progress: Progress | undefined,
  started: Supervising | undefined,
  terminal: Terminal,
): Promise<ExitCode> {
  for (const { title, detail, remedy } of progress?.steps.filter(({ state }) => state === 'failed') ?? []) {
    terminal.err(`\n${title}: ${detail ?? 'failed'}\n  ${remedy ?? ''}\n`);
  }
  if (!progress && !terminal.interrupted.aborted) {
    terminal.err(`\nThe supervisor ended. Its log is ${home.path('logs', 'supervisor.log')}\n`);
  }
  if (started?.identity) await end(started.identity, { clock: terminal.clock, graceMs: 5_000 });
  await started?.ended;
  if (started) await stopAll(home, terminal.clock, () => undefined);
  terminal.err(`\nMooring is not up. Logs are in ${home.path('logs')}\n`);
  return terminal.interrupted.aborted ? exitCode.interrupted : exitCode.refused;
}

function nextCommands(home: Home): string {
  const server = home.development.read()?.server ?? '';
  return `
Mooring is up at ${server}
  tokens   ${home.path('dev.json')} (readable by you only)
  logs     ${home.path('logs')}

Try next:
  ./moor get deployments
  ./moor apply -f ${exampleFile(home, 'web.yaml')}
  ./moor status web --until-ready
  ./moor events --watch
  ./moor logs web --follow
  ./moor scale web 3
  ./moor down
`;
}
