import { createReadStream, statSync } from 'node:fs';

import { sleep } from '../clock/index.js';
import { readLines } from '../ndjson/index.js';
import { type ExitCode, exitCode } from './exit-code.js';
import { UsageFault } from './faults.js';
import { logFile } from './home.js';
import { type Paint, paintState } from './print/paint.js';
import { plain } from './print/plain.js';
import type { Session } from './session.js';

export interface LoopLogOptions {
  readonly loop: string;
  readonly follow: boolean;
  readonly tail: number | undefined;
}

const LOOK_EVERY_MS = 250;

/** Shows the log lines of one loop of the all-in-one; to follow is to go on as they are written. */
export async function printLoop({ terminal, ink }: Session, { loop, follow, tail }: LoopLogOptions): Promise<ExitCode> {
  const path = logFile(terminal.environment, 'controllers');
  if (sizeOf(path) === undefined) {
    throw new UsageFault(`there is no log at ${path}. "moor up" starts the controllers on this machine.`);
  }
  const kept: string[] = [];
  let from = await readFrom(path, 0, line => {
    const text = loopLine(line, loop, ink);
    if (text !== undefined) kept.push(text);
  });
  terminal.out(kept.slice(tail === undefined ? 0 : Math.max(0, kept.length - tail)).join(''));
  if (kept.length === 0 && !follow) terminal.err(`nothing was logged by "${loop}" yet\n`);

  while (follow && !terminal.interrupted.aborted) {
    await sleep(terminal.clock, LOOK_EVERY_MS, terminal.interrupted);
    // A log that shrank was rotated: the new one is read from its beginning.
    const size = sizeOf(path) ?? 0;
    from = await readFrom(path, size < from ? 0 : from, line => terminal.out(loopLine(line, loop, ink) ?? ''));
  }
  return exitCode.ok;
}

/** Reads whole lines from an offset. Answers the offset after the last whole line. */
async function readFrom(path: string, from: number, seen: (line: string) => void): Promise<number> {
  if ((sizeOf(path) ?? 0) <= from) return from;
  let end = from;
  for await (const line of readLines(createReadStream(path, { start: from }))) {
    end += Buffer.byteLength(line) + 1;
    seen(line);
  }
  return end;
}

/** One JSON line as a person reads it; nothing when another loop wrote it or when it is not JSON. */
export function loopLine(line: string, loop: string, ink: Paint): string | undefined {
  const record = parse(line);
  if (record?.['loop'] !== loop) return undefined;
  const { time, level, message, loop: _loop, process: _process, ...fields } = record;
  const details = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const head = `${ink.dim(String(time).slice(11, 23))} ${paintState(ink, String(level).padEnd(5))}`;
  return `${head} ${plain(String(message))} ${ink.dim(plain(details.join(' ')))}\n`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
