import { once } from 'node:events';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { Writable } from 'node:stream';

import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.js';
import { clone, isClone } from '../version/index.js';
import { type LiveArea, planDraw } from './live-area.js';

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
  /** The line that the user types; undefined without a terminal, and at the end of the input. */
  ask(question: string): Promise<string | undefined>;
  /** The same for a secret, which is not shown. */
  askSecret(question: string): Promise<string | undefined>;
  /** For views that change in place; absent where the output is no terminal that can. */
  readonly live?: LiveArea;
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
    confirm: async question => /^y(es)?$/i.test((await ask(question, interrupt))?.trim() ?? ''),
    ask: question => ask(question, interrupt),
    askSecret: question => ask(question, interrupt, true),
    ...(stdout.isTTY && env['TERM'] !== 'dumb' && { live: createLiveArea(stdout) }),
    width: stdout.isTTY ? stdout.columns : undefined,
    colours: stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    environment: env,
    interrupted: interrupt.signal,
    clock: systemClock,
    random: systemRandom,
  };
}

function createLiveArea(stdout: NodeJS.WriteStream): LiveArea {
  let drawn = 0;
  return {
    draw(lines) {
      const { text, rows } = planDraw(drawn, lines, { width: stdout.columns, height: stdout.rows });
      drawn = rows;
      stdout.write(text);
    },
  };
}

/** Asks on standard error. What is typed as a secret is shown nowhere, from the moment of the question on. */
async function ask(question: string, interrupt: AbortController, isSecret = false): Promise<string | undefined> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) return undefined;
  const { createInterface } = await import('node:readline/promises');
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: stdin,
    ...(isSecret ? { output: nowhere, terminal: true } : { output: stderr }),
  });
  // While a line is read, Ctrl-C is a key.
  lines.once('SIGINT', () => interrupt.abort());
  const ended = once(lines, 'close').then(() => undefined);
  try {
    if (isSecret) stderr.write(question);
    return await Promise.race([lines.question(isSecret ? '' : question, { signal: interrupt.signal }), ended]);
  } finally {
    lines.close();
    if (isSecret) stderr.write('\n');
  }
}

/** Notifies the user when a watch loses its connection and when it is back. */
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

/**
 * Where the all-in-one keeps everything: `MOORING_HOME`, or `.mooring` in the clone. An installed package is replaced by
 * its next version, so it keeps its data where the user keeps that of other programs.
 */
export function findHomeFolder(environment: Environment): string {
  if (environment['MOORING_HOME']) return resolve(environment['MOORING_HOME']);
  if (isClone) return join(clone, '.mooring');
  return resolve(environment['XDG_STATE_HOME'] || join(environment['HOME'] || homedir(), '.local', 'state'), 'mooring');
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
