import { type ExitCode, exitCode, findCurrentContext, type Terminal } from '../pkg/terminal/index.js';
import { sleep, untilAborted } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { findExampleFile, runDemo } from './demo.js';
import type { EngineKind, Home, UpPlan, PlanProgress } from './home/home.js';
import { identifyProcess, isAlive, type ProcessIdentity, terminateProcess } from './machine/os-process.js';
import { findHomeFault } from './home/home-fault.js';
import { checkEngine } from './parts/engine.js';
import { startProgram } from './parts/program.js';
import { ProgressPrinter } from './supervisor/progress.js';
import { stopParts } from './down.js';
import { describeBrowser } from './sign-in-link.js';
import { findSupervisor, superviseHome } from './supervisor/supervise.js';
import { nameMoor } from './home/wording.js';

const LOOK_EVERY_MS = 100;
const LOOK_AT_HOME_EVERY_MS = 2_000;

export interface UpOptions {
  /** Undefined: as before, or the default. */
  readonly nodes: number | undefined;
  readonly engine: EngineKind | undefined;
  readonly bindRoots: readonly string[] | undefined;
  readonly demo: boolean;
  readonly foreground: boolean;
}

/** Brings everything up on this machine, or adjusts what runs to these options. */
export async function up(home: Home, options: UpOptions, terminal: Terminal): Promise<ExitCode> {
  home.create();
  const running = findSupervisor(home) !== undefined;
  if (!running) home.check();
  const before = home.plan.read();
  const bindRoots = options.bindRoots ?? before?.bindRoots ?? [];
  const plan: UpPlan = {
    id: terminal.random.uuid(),
    nodes: options.nodes ?? before?.nodes ?? 1,
    engine: options.engine ?? before?.engine ?? 'docker',
    ...(bindRoots.length > 0 && { bindRoots }),
  };
  if (!running && plan.engine === 'docker') await checkEngine(home, terminal.environment);
  home.plan.write(plan);
  terminal.out(running ? `Mooring is already running in ${home.folder}\n` : `Starting Mooring in ${home.folder}\n`);
  if (running && before && before.nodes !== plan.nodes) terminal.out(`  nodes: ${before.nodes} → ${plan.nodes}\n`);

  const stop = new AbortController();
  const supervising = running ? undefined : await startSupervisor(home, options, terminal, stop.signal);
  const progress = await followProgress(home, plan, terminal, supervising?.identity);
  if (progress?.outcome !== 'up') {
    stop.abort();
    return reportFailure(home, progress, supervising, terminal);
  }
  const code = options.demo ? await runDemo(home, terminal) : exitCode.ok;
  if (code === exitCode.ok) terminal.out(await formatNextCommands(home));
  if (!options.foreground || !supervising) return code;

  terminal.out('Ctrl-C stops everything.\n');
  await untilAborted(terminal.interrupted);
  stop.abort();
  await supervising.ended;
  await stopParts(home, terminal.clock, name => terminal.out(`  stopped ${name}\n`));
  return exitCode.ok;
}

/** The supervisor that this command has started. */
interface StartedSupervisor {
  readonly ended: Promise<void>;
  /** Set when it is a process of its own, which may not have claimed the home on disk yet. */
  readonly identity?: ProcessIdentity;
}

/** In the foreground the supervisor is this process; else it is one that outlives it. */
async function startSupervisor(
  home: Home,
  { foreground }: UpOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<StartedSupervisor> {
  // The steps are printed; its log would repeat them.
  if (foreground)
    return { ended: superviseHome(home.folder, silentLogger, AbortSignal.any([signal, terminal.interrupted])) };
  const program = { main: 'up/supervisor-main.ts', argv: [home.folder], environment: {} };
  const pid = await startProgram({ ...program, logFile: home.log('supervisor') });
  const identity = identifyProcess(pid);
  return { ended: Promise.resolve(), ...(identity && { identity }) };
}

/**
 * Prints the progress of a plan. Undefined when the supervisor is gone, or on Ctrl-C. `started` is the supervisor that
 * may not have claimed the home yet: on a busy machine that takes a while.
 */
async function followProgress(
  home: Home,
  plan: UpPlan,
  terminal: Terminal,
  started: ProcessIdentity | undefined,
): Promise<PlanProgress | undefined> {
  const { clock, interrupted } = terminal;
  const printer = new ProgressPrinter(terminal);
  const startBy = clock.monotonic() + 15_000;
  let lookAt = clock.monotonic() + LOOK_AT_HOME_EVERY_MS;
  try {
    while (!interrupted.aborted) {
      const progress = home.progress.read();
      if (progress?.plan === plan.id) {
        printer.show(progress.steps);
        if (progress.outcome !== 'working') return progress;
      }
      const isSupervised = findSupervisor(home) !== undefined || (started !== undefined && isAlive(started));
      if (!isSupervised && (started !== undefined || clock.monotonic() > startBy)) return undefined;
      if (clock.monotonic() > lookAt) {
        // The progress cannot be recorded there either.
        if (findHomeFault(home.folder)) return undefined;
        lookAt = clock.monotonic() + LOOK_AT_HOME_EVERY_MS;
      }
      await sleep(clock, LOOK_EVERY_MS, interrupted);
    }
    return undefined;
  } finally {
    printer.clear();
  }
}

/** Prints the failed steps with their remedies, and stops what this command started. */
async function reportFailure(
  home: Home,
  progress: PlanProgress | undefined,
  started: StartedSupervisor | undefined,
  terminal: Terminal,
): Promise<ExitCode> {
  const fault = terminal.interrupted.aborted ? undefined : findHomeFault(home.folder);
  for (const { title, detail, remedy } of (fault ? undefined : progress)?.steps.filter(
    ({ state }) => state === 'failed',
  ) ?? []) {
    terminal.err(`\n${title}: ${detail ?? 'failed'}\n  ${remedy ?? ''}\n`);
  }
  if (!progress && !fault && !terminal.interrupted.aborted) {
    terminal.err(`\nThe supervisor ended unexpectedly. Its log is ${home.path('logs', 'supervisor.log')}\n`);
  }
  if (started?.identity) await terminateProcess(started.identity, { clock: terminal.clock, graceMs: 5_000 });
  await started?.ended;
  if (started) await stopParts(home, terminal.clock, () => undefined);
  terminal.err(fault ? `moor: ${fault.message}\n` : `\nMooring is not up. Logs are in ${home.path('logs')}\n`);
  return terminal.interrupted.aborted ? exitCode.interrupted : exitCode.refused;
}

async function formatNextCommands(home: Home): Promise<string> {
  const development = home.development.read();
  const moor = nameMoor(process.env);
  const context = await findCurrentContext(process.env);
  const elsewhere = `\n  context  ${context} is current: commands go to its server until "${moor} context use development"`;
  return `
Mooring is up at ${development?.server ?? ''}
  browser  ${await describeBrowser(development)}
  tokens   ${home.path('dev.json')} (readable by you only)
  logs     ${home.path('logs')}${context === undefined ? '' : elsewhere}

Try next:
  ${moor} get deployments
  ${moor} apply -f ${findExampleFile(home, 'web.yaml')}
  ${moor} status web --until-ready
  ${moor} events --watch
  ${moor} logs web --follow
  ${moor} scale web 3
  ${moor} down
`;
}
