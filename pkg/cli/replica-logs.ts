import { type Client, type StreamAnswer, UnreachableFault } from '../client/index.js';
import { backoffMs, sleep } from '../clock/index.js';
import { readLines } from '../ndjson/index.js';
import { type ExitCode, exitCode } from './exit-code.js';
import { deployments } from './kinds.js';
import type { Session } from './session.js';
import type { DeploymentView } from './views.js';

const RECONNECT = { firstMs: 250, capMs: 5_000 };
/** How long after a connection lines of the past may come. */
const PAST_WITHIN_MS = 1_500;

export interface ReplicaLogs {
  readonly deployment: string;
  readonly replica: number;
  readonly follow: boolean;
  readonly tail: number | undefined;
  readonly print: (line: string) => void;
}

/** Prints what one replica's container prints; to follow is to go on for as long as there is such a replica. */
export async function printReplica(session: Session, client: Client, wanted: ReplicaLogs): Promise<ExitCode> {
  const { terminal } = session;
  let failures = 0;
  let reached = false;
  const tail = new LogTail(line => {
    failures = 0;
    wanted.print(line);
  });
  while (!terminal.interrupted.aborted) {
    try {
      const answer = await ask(session, client, wanted, tail.resume());
      if (answer.ok) {
        reached = true;
        await readInto(session, tail, answer.body);
      } else if (!reached || !mayPass(answer.status)) return session.reportRejection(answer);
      if (!wanted.follow || !(await isWanted(client, wanted))) return exitCode.ok;
    } catch (thrown) {
      if (terminal.interrupted.aborted) return exitCode.ok;
      if (!(thrown instanceof UnreachableFault) || !wanted.follow || !reached) throw thrown;
    }
    await sleep(terminal.clock, backoffMs(++failures, RECONNECT, terminal.random), terminal.interrupted);
  }
  return exitCode.ok;
}

function ask(session: Session, client: Client, wanted: ReplicaLogs, again: number | undefined): Promise<StreamAnswer> {
  const { deployment, replica, follow, tail } = wanted;
  return client.stream(pathOf(deployment, '/logs'), {
    query: { follow: follow || undefined, tail: again ?? tail, replica },
    headers: { accept: 'text/plain' },
    signal: session.terminal.interrupted,
  });
}

async function readInto({ terminal }: Session, tail: LogTail, body: AsyncIterable<Buffer>): Promise<void> {
  const cancel = terminal.clock.after(PAST_WITHIN_MS, () => tail.settle());
  try {
    for await (const line of readLines(terminated(body))) tail.read(line);
    tail.settle();
  } finally {
    cancel();
  }
}

/** The last line of a container that has ended may lack its line break. */
async function* terminated(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let last: number | undefined;
  for await (const chunk of body) {
    last = chunk.at(-1) ?? last;
    yield chunk;
  }
  if (last !== undefined && last !== 10) yield Buffer.from('\n');
}

/** A stream ends with its container and with its server. Only the first may mean that there is nothing more to come. */
async function isWanted(client: Client, { deployment, replica }: ReplicaLogs): Promise<boolean> {
  const answer = await client.request<DeploymentView>('GET', pathOf(deployment));
  if (!answer.ok) return answer.status !== 404;
  return answer.value.status?.placements.some(placement => placement.replica === replica) ?? false;
}

/** A server may be busy or starting, and a replica on its way to another node. */
function mayPass(status: number): boolean {
  return status === 404 || status === 429 || status === 503;
}

function pathOf(deployment: string, below = ''): string {
  return `${deployments.path}/${encodeURIComponent(deployment)}${below}`;
}

/** Lines that are remembered, and asked for again after a break. */
const REMEMBERED = 1_000;

/**
 * The output of one replica, printed line by line and each line once, over connections that break.
 *
 * The server has no cursor in a log. So the last lines are read again after a break and compared with those that were
 * printed last: only what comes after them is new.
 */
export class LogTail {
  readonly #print: (line: string) => void;
  #printed: string[] = [];
  /** What was read again so far, while it is not clear yet what of it is new. */
  #again: string[] | undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Begins to read again. Returns how many lines to ask for; undefined when none was printed yet. */
  resume(): number | undefined {
    if (this.#printed.length === 0) return undefined;
    this.#again = [];
    return REMEMBERED;
  }

  /** One more line was read. */
  read(line: string): void {
    if (!this.#again) return this.#printLine(line);
    this.#again.push(line);
    if (this.#again.length >= REMEMBERED) this.settle();
  }

  /** No more lines of the past are to be expected: what was read again is complete. */
  settle(): void {
    const again = this.#again ?? [];
    this.#again = undefined;
    for (const line of again.slice(countKnown(again, this.#printed))) this.#printLine(line);
  }

  #printLine(line: string): void {
    this.#print(line);
    this.#printed.push(line);
    if (this.#printed.length > REMEMBERED) this.#printed.shift();
  }
}

/** How many of the lines that were read again are known: up to where they agree with the most of what was printed. */
export function countKnown(again: readonly string[], printed: readonly string[]): number {
  let best = { known: 0, agreeing: 0 };
  for (let known = 1; known <= again.length; known++) {
    const agreeing = Math.min(known, printed.length);
    if (agreeing > best.agreeing && agrees(again.slice(known - agreeing, known), printed.slice(-agreeing))) {
      best = { known, agreeing };
    }
  }
  return best.known;
}

function agrees(some: readonly string[], others: readonly string[]): boolean {
  return some.every((line, at) => line === others[at]);
}
