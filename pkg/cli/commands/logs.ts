import { createReadStream, statSync } from 'node:fs';

import { type Client, UnreachableFault } from '../../client/index.js';
import { sleep } from '../../clock/index.js';
import { readLines } from '../../ndjson/index.js';
import { type ExitCode, exitCode, UsageFault, type Paint, findLogFile } from '../../terminal/index.js';
import { jobs } from '../kinds.js';
import { paintState, stripControls, stripLogControls } from '../print/text.js';
import { getDeploymentPath, printReplica, toAttemptSource, toReplicaSource } from '../replica-logs.js';
import type { Command, Session } from '../session.js';
import type { DeploymentView } from '../../../crds/deployment/index.js';
import type { JobView } from '../../../crds/job/index.js';

interface LogsInput {
  readonly name: string | undefined;
  /** Default: true for the log of a loop, false for the output of a deployment. */
  readonly follow?: boolean;
  readonly tail?: number;
  readonly since?: string;
  readonly previous?: boolean;
  readonly replica?: number;
  readonly attempt?: number;
  /** The loop whose log to show instead of the output of a deployment. */
  readonly controllers?: string;
}

/** Prints the output of a deployment's containers, or the log of one loop of the all-in-one. */
export const logs: Command<LogsInput> = async (session, input) => {
  const { name, tail, since, previous, replica, controllers, follow = controllers !== undefined } = input;
  if (controllers !== undefined) return printLoop(session, { loop: controllers, follow, tail });
  if (name === undefined)
    throw new UsageFault('the name of a deployment is missing; or name a loop with --controllers.');

  const job = JOB_NAME.exec(name)?.[1];
  const client = await session.connect();
  if (job !== undefined) return printJob(session, client, { ...input, job, follow });
  const answer = await client.request<DeploymentView>('GET', getDeploymentPath(name));
  if (!answer.ok) return session.reportRejection(answer);
  // Of a deployment without a placed replica the server says why, or has the log of what ran last.
  const placed = placedReplicas(answer.value);
  const replicas = replica === undefined ? (placed.length > 0 ? placed : [0]) : [replica];

  const shown = new Set(replicas);
  const printOne: PrintOne = (number, start) => {
    shown.add(number);
    const print = (line: string) => printLine(session, shown.size > 1 ? `${name}-${number}` : '', line);
    return printReplica(session, client, { source: toReplicaSource(name, number), follow, previous, ...start, print });
  };
  const codes: ExitCode[] = [];
  if (!follow) for (const number of replicas) codes.push(await printOne(number, { tail, since }));
  else if (replica !== undefined) codes.push(await printOne(replica, { tail, since }));
  else codes.push(...(await followAll(session, client, { name, replicas, start: { tail, since } }, printOne)));
  return codes.find(code => code !== exitCode.ok) ?? exitCode.ok;
};

/** `job/migrate`. */
const JOB_NAME = /^jobs?\/(.+)$/;

/** Prints the output of an attempt of a job, by default the last one, also after its end; of a schedule, that of the last run. */
async function printJob(
  session: Session,
  client: Client,
  input: LogsInput & { readonly job: string; readonly follow: boolean },
): Promise<ExitCode> {
  const { job, attempt, tail, since, follow } = input;
  const answer = await client.request<JobView>('GET', jobs.pathOf(job));
  if (!answer.ok) return session.reportRejection(answer);
  const { schedule, status } = answer.value;
  // What a job with a schedule prints is what its runs print.
  if (schedule !== undefined) {
    const run = status.runs?.find(({ name }) => name === status.lastRun?.name);
    if (run) return printJob(session, client, { ...input, job: run.name });
    session.terminal.err(`${stripControls(explainNoRun(job, status))}\n`);
    return exitCode.notFound;
  }
  const number = attempt ?? status.history.at(-1)?.attempt ?? 1;
  const print = (line: string) => printLine(session, '', line);
  return printReplica(session, client, { source: toAttemptSource(job, number), follow, tail, since, print });
}

function explainNoRun(job: string, { lastRun, message }: JobView['status']): string {
  if (!lastRun) return `job/${job} has had no run yet: ${message}`;
  return `the last run of job/${job}, ${lastRun.name}, is not kept any more: "moor describe job ${job}" shows those that are; ${message}`;
}

type LogsStart = { readonly tail: number | undefined; readonly since: string | undefined };
type PrintOne = (replica: number, start?: LogsStart) => Promise<ExitCode>;

/** Prints one line of output, after the name of what printed it where there are several. */
export function printLine({ terminal, ink }: Session, replica: string, line: string): void {
  // A program gets the bytes as they are; a terminal would obey them.
  const shown = terminal.width === undefined ? line : stripLogControls(line);
  terminal.out(`${replica === '' ? '' : ink.cyan(`${replica} | `)}${shown}\n`);
}

const REPLICAS_EVERY_MS = 2_000;

/** Follows every replica, also one that is added meanwhile, until none is left. One that could not be read is not tried again. */
async function followAll(
  { terminal }: Session,
  client: Client,
  { name, replicas, start }: { readonly name: string; readonly replicas: readonly number[]; readonly start: LogsStart },
  printOne: PrintOne,
): Promise<readonly ExitCode[]> {
  const running = new Map<number, Promise<void>>();
  const failed = new Map<number, ExitCode>();
  const follow = (number: number, from?: LogsStart) => {
    if (running.has(number) || failed.has(number)) return;
    const printing = printOne(number, from).then(code => {
      running.delete(number);
      if (code !== exitCode.ok) failed.set(number, code);
    });
    running.set(number, printing);
  };
  for (const number of replicas) follow(number, start);
  while (running.size > 0) {
    const look = new AbortController();
    const pause = sleep(terminal.clock, REPLICAS_EVERY_MS, AbortSignal.any([look.signal, terminal.interrupted]));
    await Promise.race([pause, Promise.all(running.values())]);
    look.abort();
    if (terminal.interrupted.aborted) await Promise.all(running.values());
    else for (const number of await findReplicas(client, name)) follow(number);
  }
  return [...failed.values()];
}

/** A server that is away is asked again later. */
async function findReplicas(client: Client, name: string): Promise<readonly number[]> {
  try {
    const answer = await client.request<DeploymentView>('GET', getDeploymentPath(name));
    return answer.ok ? placedReplicas(answer.value) : [];
  } catch (thrown) {
    if (thrown instanceof UnreachableFault) return [];
    throw thrown;
  }
}

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
