import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

import { ProcessStartFault } from './faults.js';

const LOOK_EVERY_MS = 50;

export interface ProgramOptions {
  readonly logFile: string;
  /** Lets the program outlive this process. */
  readonly detached: boolean;
  /** Ends it when this process ends or is interrupted: a test that crashes leaves nothing behind. */
  readonly endsWithUs?: boolean;
  /** Beside the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whose it is. Default: as this process. */
  readonly uid?: number;
  readonly gid?: number;
}

/** Runs a program with its output in a log file, in a process group of its own unless it ends with us: a Ctrl-C is ours to pass on. */
export function runProgram(program: string, args: readonly string[], options: ProgramOptions): ChildProcess {
  const { logFile, detached, endsWithUs = false, environment, ...owner } = options;
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'a');
  const env = { ...process.env, ...environment };
  const child = spawn(program, args, { stdio: ['ignore', log, log], detached: !endsWithUs, env, ...owner });
  closeSync(log);
  child.on('error', () => undefined); // seen as a process that has no id
  if (detached) child.unref();
  if (endsWithUs) {
    const end = () => child.kill('SIGKILL');
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
  }
  return child;
}

/** Whether the program has ended, or never began. */
export function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Sends a signal and waits until the program has ended. */
export async function endProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  child.kill('SIGCONT'); // a frozen process would not hear of it
  await ended;
}

/** Waits until a program serves. One that does not is ended, and what went wrong is said. */
export async function awaitServing(
  child: ChildProcess,
  serves: () => Promise<boolean>,
  { withinMs, logFile }: { readonly withinMs: number; readonly logFile: string },
): Promise<void> {
  const program = child.spawnfile;
  const deadline = performance.now() + withinMs;
  try {
    while (hasEnded(child) || !(await serves())) {
      if (child.pid === undefined) throw new ProcessStartFault(`${program} could not be run: is it installed?`);
      if (hasEnded(child)) throw new ProcessStartFault(`${program} ended while starting; see ${logFile}`);
      if (performance.now() > deadline) throw new ProcessStartFault(`${program} does not serve; see ${logFile}`);
      await pause(LOOK_EVERY_MS);
    }
  } catch (thrown) {
    await endProgram(child, 'SIGKILL');
    throw thrown;
  }
}
