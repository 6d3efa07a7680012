import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DockerEngine, type Engine, SimulatedEngine } from '../pkg/agent/index.js';
import { type ExitCode, exitCode, type Terminal } from '../pkg/terminal/index.js';
import { untilAborted } from '../pkg/clock/index.js';
import { createLogger } from '../pkg/log/index.js';
import { findSupervisor } from './supervisor/supervise.js';
import { runDemo } from './demo.js';
import { PartFault } from './parts/part.js';
import { type EngineKind, type Home, toDevelopment } from './home/home.js';
import { startInMemory } from './in-memory.js';
import { findSystemDocker } from './parts/engine.js';
import { choosePort } from './parts/program.js';
import { describeBrowser } from './sign-in-link.js';
import { nameMoor } from './home/wording.js';

const USUAL_PORT = 7070;
const SIMULATED = `The engine is simulated: deployments become "Running" and "healthy", but there is no container.
Use --engine docker for real ones, or "moor up" without --ephemeral for everything.
`;

export interface EphemeralOptions {
  readonly nodes: number;
  readonly engine: EngineKind;
  readonly demo: boolean;
}

/** Runs everything in this process, on a store in memory, until Ctrl-C. Nothing is kept. */
export async function runEphemeral(home: Home, options: EphemeralOptions, terminal: Terminal): Promise<ExitCode> {
  const { clock, random } = terminal;
  if (findSupervisor(home)) throw new PartFault('Mooring is already running here: "moor down" stops it');
  const folder = mkdtempSync(join(tmpdir(), 'mooring-ephemeral-'));
  const engine = await openEngine(options.engine, terminal);
  const port = await choosePort([USUAL_PORT]);
  terminal.out('Starting Mooring in this process, in memory. Nothing is kept when it ends.\n');
  if (options.engine === 'simulated') terminal.out(SIMULATED);
  home.create();
  // "moor logs --controllers" reads the log of the loops there.
  const log = createLogger({ level: 'info', format: 'json', file: home.log('controllers') });
  const { MOORING_TRACE_ENDPOINT: traceEndpoint, MOORING_TRACE_RATIO: traceRatio } = terminal.environment;
  const parts = { clock, random, log, engine, traceEndpoint, traceRatio };
  const mooring = await startInMemory({ ...parts, port, folder, nodes: options.nodes });
  home.development.write(toDevelopment(mooring.url, mooring.access));
  try {
    if (options.demo && options.engine === 'simulated') await runDemo(home, terminal);
    // "moor up" would start everything else beside it.
    const renewal = `later, sign in with a token: "${nameMoor(process.env)} tokens create"`;
    terminal.out(`\nIn the browser: ${await describeBrowser(home.development.read(), renewal)}\n`);
    terminal.out(
      `\nMooring is up at ${mooring.url}. In another terminal, try "${nameMoor(process.env)} get deployments". Ctrl-C ends it.\n`,
    );
    await untilAborted(terminal.interrupted);
    return exitCode.ok;
  } finally {
    home.development.remove();
    await mooring.stop();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openEngine(kind: EngineKind, { clock, random, environment }: Terminal): Promise<Engine> {
  if (kind === 'simulated') return new SimulatedEngine({ clock, random });
  const host = await findSystemDocker(environment);
  if (host === undefined) throw new PartFault('no container engine answers: start Docker, or omit --engine');
  return new DockerEngine({ host, hostPortAddress: '127.0.0.1', clock });
}
