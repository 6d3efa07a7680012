import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';

import { findFreePort, isFreePort, ownsPort } from '../programs/index.js';
import { BrokenAnswerFault, UnreachableFault } from '../../pkg/client/index.js';
import { type Clock, sleep } from '../../pkg/clock/index.js';
import { clone, programArguments } from '../../pkg/version/index.js';
import type { HeldSocket } from '../machine/held-sockets.js';
import { PartFault } from './part.js';
import { terminateProcess, identifyProcess } from '../machine/os-process.js';

/** The first of the wanted ports that is free, or any free one. */
export async function choosePort(wanted: readonly number[]): Promise<number> {
  for (const port of wanted) if (port > 0 && (await isFreePort(port))) return port;
  return findFreePort();
}

const PORT_ATTEMPTS = 5;

/**
 * Starts something on a port that was free when it was chosen. Where another program listens there by the time it starts
 * (two `moor up` at once want the same ports), it is started again on the next choice.
 */
export async function startOnPort<T>(choose: () => Promise<number>, start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const port = await choose();
    try {
      return await start(port);
    } catch (thrown) {
      const lost = !(await isFreePort(port)) && !(await ownsPort(process.pid, port));
      if (!lost || attempt === PORT_ATTEMPTS) throw thrown;
    }
  }
}

/** One of our own programs, started in the background. */
export interface BackgroundProgram {
  /** Path within the clone: `api/main.ts`. */
  readonly main: string;
  readonly argv: readonly string[];
  /** Added to the environment of this process. A secret goes here, never among the arguments. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** A socket to listen on, handed over as systemd does: as descriptor 3. */
  readonly socket?: HeldSocket;
}

/** For Node, as `moor` gives them: memory for new objects, at the size that the first burst of requests would give it for ever, or that idle volumes need. */
const SIZES: Readonly<Record<string, readonly string[]>> = {
  'api/main.ts': ['--min-semi-space-size=16'],
  'controllers/main.ts': ['--min-semi-space-size=16'],
  'pkg/agent/main.ts': ['--min-semi-space-size=4'],
};

/** Starts a program that outlives this process, and resolves with its process id. */
export function startProgram({ main, argv, environment, logFile, socket }: BackgroundProgram): Promise<number> {
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [...(SIZES[main] ?? []), ...programArguments(main), ...argv], {
    cwd: clone,
    detached: true,
    stdio: ['ignore', log, log, ...(socket?.handle ? [socket.handle] : [])],
    env: { ...process.env, ...environment, ...(socket?.handle && { LISTEN_FDS: '1' }) },
  });
  closeSync(log);
  child.unref();
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid!));
  });
}

const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 50;
const SHOWN_BYTES = 4_096;
const SHOWN_LINES = 5;

export interface ServingCheck {
  readonly pid: number;
  readonly clock: Clock;
  readonly logFile: string;
  readonly serves: () => Promise<boolean>;
}

/** Waits until a process that was just started serves. Fails with the end of its log when it ends or never serves. */
export async function waitUntilServing({ pid, clock, logFile, serves }: ServingCheck): Promise<void> {
  const identity = identifyProcess(pid);
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    if (await holds(serves)) return;
    if (!identity || identifyProcess(pid)?.started !== identity.started)
      throw new PartFault(`it ended right after its start${readLogTail(logFile)}`);
    if (clock.monotonic() > deadline) {
      await terminateProcess(identity, { clock, graceMs: 2_000 });
      throw new PartFault(`it did not serve within ${PATIENCE_MS / 1000} s${readLogTail(logFile)}`);
    }
    await sleep(clock, LOOK_EVERY_MS);
  }
}

async function holds(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch (thrown) {
    // A health endpoint answers with a status and no rejection.
    if (thrown instanceof UnreachableFault || thrown instanceof BrokenAnswerFault) return false;
    throw thrown;
  }
}

/** The last lines of a log, as the end of a message. */
function readLogTail(path: string): string {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const bytes = Buffer.alloc(Math.min(size, SHOWN_BYTES));
  if (bytes.length === 0) return '';
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, bytes.length, size - bytes.length);
  closeSync(file);
  const lines = bytes.toString('utf8').trimEnd().split('\n').slice(-SHOWN_LINES);
  return `; the end of ${path}:\n${lines.map(line => `      ${line}`).join('\n')}`;
}
