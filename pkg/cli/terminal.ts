import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.js';

/** The world of a command: where it prints, what it reads, how it is told to stop. */
export interface Terminal {
  /** For what was asked for. */
  out(text: string): void;
  /** For what a person should know beside it. */
  err(text: string): void;
  readInput(): Promise<string>;
  /** Asks a person; false where there is none. */
  confirm(question: string): Promise<boolean>;
  /** Columns to fit into, when a person is looking. */
  readonly width: number | undefined;
  readonly colours: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
}

/** The terminal that the process runs in. */
export function processTerminal(): Terminal {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  process.once('SIGTERM', () => interrupt.abort());
  // A reader that has seen enough, such as head, is no reason to complain.
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
    colours: wantsColours(env, stdout.isTTY),
    environment: env,
    interrupted: interrupt.signal,
    clock: systemClock,
    random: systemRandom,
  };
}

/** Colours are for people: on a terminal, unless NO_COLOR or a dumb terminal says otherwise. */
export function wantsColours(environment: Readonly<Record<string, string | undefined>>, isTty: boolean): boolean {
  return isTty && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
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

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
