import { createReadStream, statSync } from 'node:fs';

import { sleep } from '../../clock/index.js';
import { readLines } from '../../ndjson/index.js';
import { type ExitCode, exitCode, UsageFault } from '../exit-code.js';
import { deployments } from '../kinds.js';
import { type Paint, paintState, plain } from '../print/text.js';
import { printReplica } from '../replica-logs.js';
import type { Command, Session } from '../session.js';
import { logFile } from '../terminal.js';
import type { DeploymentView } from '../views.js';

interface LogsInput {
  readonly name: string | undefined;
  /** A log of a loop is followed unless told otherwise, a deployment's only when told so. */
  readonly follow: boolean | undefined;
  readonly tail: number | undefined;
  readonly replica: number | undefined;
  /** The loop whose log to show instead of a deployment's. */
  readonly controllers: string | undefined;
}

/** Shows what a deployment's containers print, or what one loop of the all-in-one logs. */
export const logs: Command<LogsInput> = async (session, input) => {
  const { name, tail, replica, controllers, follow = controllers !== undefined } = input;
  const { terminal, ink } = session;
  if (controllers !== undefined) return printLoop(session, { loop: controllers, follow, tail });
  if (name === undefined)
    throw new UsageFault('the name of a deployment is missing; or name a loop with --controllers.');

  const client = await session.connect();
  const answer = await client.request<DeploymentView>('GET', `${deployments.path}/${encodeURIComponent(name)}`);
  if (!answer.ok) return session.reportRejection(answer);
  const replicas = replica === undefined ? placedReplicas(answer.value) : [replica];
  if (replicas.length === 0) terminal.err(`no replica of deployment/${name} has a node yet\n`);

  const printed = (number: number): Promise<ExitCode> => {
    const whose = replicas.length > 1 ? ink.cyan(`${name}-${number} | `) : '';
    const print = (line: string) => terminal.out(`${whose}${line}\n`);
    return printReplica(session, client, { deployment: name, replica: number, follow, tail, print });
  };
  const codes = follow ? await Promise.all(replicas.map(printed)) : await inTurn(replicas, printed);
  return codes.find(code => code !== exitCode.ok) ?? exitCode.ok;
};

function placedReplicas({ status }: DeploymentView): readonly number[] {
  return (status?.placements ?? []).filter(({ nodeId }) => nodeId).map(({ replica }) => replica);
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

export interface LoopLogOptions {
  readonly loop: string;
  readonly follow: boolean;
  readonly tail: number | undefined;
}

const LOOK_EVERY_MS = 250;

/** Shows the log lines of one loop of the all-in-one; with `follow`, as they are written. */
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
  if (kept.length === 0 && !follow) terminal.err(`the loop "${loop}" has logged nothing yet\n`);

  while (follow && !terminal.interrupted.aborted) {
    await sleep(terminal.clock, LOOK_EVERY_MS, terminal.interrupted);
    // A log that shrank was rotated: the new one is read from its beginning.
    const size = sizeOf(path) ?? 0;
    from = await readFrom(path, size < from ? 0 : from, line => terminal.out(loopLine(line, loop, ink) ?? ''));
  }
  return exitCode.ok;
}

/** Reads whole lines from an offset. Resolves with the offset after the last whole line. */
async function readFrom(path: string, from: number, seen: (line: string) => void): Promise<number> {
  if ((sizeOf(path) ?? 0) <= from) return from;
  let end = from;
  for await (const line of readLines(createReadStream(path, { start: from }))) {
    end += Buffer.byteLength(line) + 1;
    seen(line);
  }
  return end;
}

/** One JSON line as text. Undefined when another loop wrote it or when it is not JSON. */
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
