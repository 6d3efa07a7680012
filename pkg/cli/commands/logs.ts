import { createReadStream, statSync } from 'node:fs';

import { sleep } from '../../clock/index.js';
import { readLines } from '../../ndjson/index.js';
import { type ExitCode, exitCode, UsageFault } from '../exit-code.js';
import { deployments } from '../kinds.js';
import { type Paint, paintState, stripControls, stripLogControls } from '../print/text.js';
import { printReplica } from '../replica-logs.js';
import type { Command, Session } from '../session.js';
import { findLogFile } from '../terminal.js';
import type { DeploymentView } from '../views.js';

interface LogsInput {
  readonly name: string | undefined;
  /** Default: true for the log of a loop, false for the output of a deployment. */
  readonly follow?: boolean;
  readonly tail?: number;
  readonly replica?: number;
  /** The loop whose log to show instead of the output of a deployment. */
  readonly controllers?: string;
}

/** Prints the output of a deployment's containers, or the log of one loop of the all-in-one. */
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

  const printOne = (number: number): Promise<ExitCode> => {
    const prefix = replicas.length > 1 ? ink.cyan(`${name}-${number} | `) : '';
    // A program gets the bytes as they are; a terminal would obey them.
    const show = terminal.width === undefined ? (line: string) => line : stripLogControls;
    const print = (line: string) => terminal.out(`${prefix}${show(line)}\n`);
    return printReplica(session, client, { deployment: name, replica: number, follow, tail, print });
  };
  const codes: ExitCode[] = follow ? await Promise.all(replicas.map(printOne)) : [];
  if (!follow) for (const number of replicas) codes.push(await printOne(number));
  return codes.find(code => code !== exitCode.ok) ?? exitCode.ok;
};

function placedReplicas({ status }: DeploymentView): readonly number[] {
  return (status?.placements ?? []).filter(({ nodeId }) => nodeId).map(({ replica }) => replica);
}

const LOOK_EVERY_MS = 250;

interface LoopLogOptions {
  readonly loop: string;
  readonly follow: boolean;
  readonly tail: number | undefined;
}

/** Prints the log lines of one loop of the all-in-one; with `follow`, also those that are written later. */
async function printLoop({ terminal, ink }: Session, { loop, follow, tail }: LoopLogOptions): Promise<ExitCode> {
  const path = findLogFile(terminal.environment, 'controllers');
  if (getSize(path) === undefined) {
    throw new UsageFault(`there is no log at ${path}. "moor up" starts the controllers on this machine.`);
  }
  const past: string[] = [];
  let from = await readFrom(path, 0, line => past.push(...formatLogLine(line, loop, ink)));
  terminal.out(past.slice(tail === undefined ? 0 : Math.max(0, past.length - tail)).join(''));
  if (past.length === 0 && !follow) terminal.err(`the loop "${loop}" has logged nothing yet\n`);

  while (follow && !terminal.interrupted.aborted) {
    await sleep(terminal.clock, LOOK_EVERY_MS, terminal.interrupted);
    // A log that shrank was rotated: the new one is read from its beginning.
    const size = getSize(path) ?? 0;
    from = await readFrom(path, size < from ? 0 : from, line => formatLogLine(line, loop, ink).forEach(terminal.out));
  }
  return exitCode.ok;
}

/** Reads whole lines from an offset. Resolves with the offset after the last whole line. */
async function readFrom(path: string, from: number, onLine: (line: string) => void): Promise<number> {
  if ((getSize(path) ?? 0) <= from) return from;
  let end = from;
  for await (const line of readLines(createReadStream(path, { start: from }))) {
    end += Buffer.byteLength(line) + 1;
    onLine(line);
  }
  return end;
}

/** One JSON line as text. Empty when another loop wrote it or when it is not JSON. */
function formatLogLine(line: string, loop: string, ink: Paint): readonly string[] {
  const record = parseRecord(line);
  if (record?.['loop'] !== loop) return [];
  const { time, level, message, loop: _loop, process: _process, ...fields } = record;
  const details = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const head = `${ink.dim(String(time).slice(11, 23))} ${paintState(ink, String(level).padEnd(5))}`;
  return [`${head} ${stripControls(String(message))} ${ink.dim(stripControls(details.join(' ')))}\n`];
}

function parseRecord(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function getSize(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
