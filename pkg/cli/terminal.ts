import { join, resolve } from 'node:path';

import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.js';
import { clone } from '../version/index.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The surface of a command: output, input, environment variables, interruption and time. */
export interface Terminal {
  /** Standard output: the result. */
  out(text: string): void;
  /** Standard error: remarks for the user. */
  err(text: string): void;
  readInput(): Promise<string>;
  /** Asks the user; false without a terminal. */
  confirm(question: string): Promise<boolean>;
  /** Columns to fit into, when the output is a terminal. */
  readonly width: number | undefined;
  readonly colours: boolean;
  readonly environment: Environment;
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
}

/** The terminal that the process runs in. */
export function createProcessTerminal(): Terminal {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  process.once('SIGTERM', () => interrupt.abort());
  // A reader that ends early, such as head, is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
  });
  const { env, stdout, stderr } = process;
  return {
    out: text => void stdout.write(text),
    err: text => void stderr.write(text),
    readInput: readAll,
    confirm: question => confirm(question, interrupt.signal),
    width: stdout.isTTY ? stdout.columns : undefined,
    colours: stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    environment: env,
    interrupted: interrupt.signal,
    clock: systemClock,
    random: systemRandom,
  };
}

async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(question, { signal })).trim());
  } finally {
    lines.close();
  }
}

/** Tells the user when a watch loses its connection and when it is back. */
export function reportConnection({ err }: Terminal): (isUp: boolean) => void {
  return isUp => err(isUp ? 'reconnected\n' : 'connection lost, resuming\n');
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** An option of every command that waits. */
export interface WaitOptions {
  /** In milliseconds; undefined waits forever. */
  readonly timeout?: number;
}

/** When to stop waiting: at Ctrl-C or after the timeout. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly passed: boolean;
  end(): void;
}

export function startDeadline({ clock, interrupted }: Terminal, { timeout }: WaitOptions): Deadline {
  const late = new AbortController();
  const cancel = timeout === undefined ? () => undefined : clock.after(timeout, () => late.abort());
  return {
    signal: AbortSignal.any([interrupted, late.signal]),
    get passed() {
      return late.signal.aborted;
    },
    end: cancel,
  };
}

/** Where the all-in-one keeps everything: `MOORING_HOME`, or `.mooring` in the clone. */
export function findHomeFolder(environment: Environment): string {
  return resolve(environment['MOORING_HOME'] || join(clone, '.mooring'));
}

/**
 * Names the development server and its tokens, for commands run on this machine: `{server, tokens: {tenant,
 * platform}}`. Written by `moor up`, mode 0600.
 */
export function findDevelopmentFile(environment: Environment): string {
  return join(findHomeFolder(environment), 'dev.json');
}

/** The log of one process of the all-in-one. */
export function findLogFile(environment: Environment, name: string): string {
  return join(findHomeFolder(environment), 'logs', `${name}.log`);
}
