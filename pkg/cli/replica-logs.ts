import { type Client, type StreamAnswer, UnreachableFault } from '../client/index.js';
import { backoffMs, sleep } from '../clock/index.js';
import { readLines } from '../ndjson/index.js';
import { type ExitCode, exitCode } from './exit-code.js';
import { deployments } from './kinds.js';
import type { Session } from './session.js';
import type { DeploymentView } from './views.js';

const RECONNECT = { firstMs: 250, capMs: 5_000 };
/** How long after connecting the server may still send lines of the past. */
const PAST_WITHIN_MS = 1_500;

export interface ReplicaLogs {
  readonly deployment: string;
  readonly replica: number;
  readonly follow: boolean;
  readonly tail: number | undefined;
  readonly print: (line: string) => void;
}

/** Prints the output of one replica. With `follow`, it reconnects for as long as the replica exists. */
export async function printReplica(session: Session, client: Client, options: ReplicaLogs): Promise<ExitCode> {
  const { terminal } = session;
  let failures = 0;
  let reached = false;
  const tail = new LogTail(line => {
    failures = 0;
    options.print(line);
  });
  while (!terminal.interrupted.aborted) {
    try {
      const answer = await openLogs(session, client, options, tail.resume());
      if (answer.ok) {
        reached = true;
        await readInto(session, tail, answer.body);
      } else if (!reached || !isTemporary(answer.status)) return session.reportRejection(answer);
      if (!options.follow || !(await exists(client, options))) return exitCode.ok;
    } catch (thrown) {
      if (terminal.interrupted.aborted) return exitCode.ok;
      if (!(thrown instanceof UnreachableFault) || !options.follow || !reached) throw thrown;
    }
    await sleep(terminal.clock, backoffMs(++failures, RECONNECT, terminal.random), terminal.interrupted);
  }
  return exitCode.ok;
}

function openLogs(
  session: Session,
  client: Client,
  options: ReplicaLogs,
  resumed: number | undefined,
): Promise<StreamAnswer> {
  const { deployment, replica, follow, tail } = options;
  return client.stream(getPath(deployment, '/logs'), {
    query: { follow: follow || undefined, tail: resumed ?? tail, replica },
    headers: { accept: 'text/plain' },
    signal: session.terminal.interrupted,
  });
}

async function readInto({ terminal }: Session, tail: LogTail, body: AsyncIterable<Buffer>): Promise<void> {
  const cancel = terminal.clock.after(PAST_WITHIN_MS, () => tail.settle());
  try {
    for await (const line of readLines(terminateLastLine(body))) tail.read(line);
    tail.settle();
  } finally {
    cancel();
  }
}

/** The last line of a container that has ended may lack its line break. */
async function* terminateLastLine(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let last: number | undefined;
  for await (const chunk of body) {
    last = chunk.at(-1) ?? last;
    yield chunk;
  }
  if (last !== undefined && last !== 10) yield Buffer.from('\n');
}

/** A stream ends with its container or with its server. Output may follow for as long as the replica is placed. */
async function exists(client: Client, { deployment, replica }: ReplicaLogs): Promise<boolean> {
  const answer = await client.request<DeploymentView>('GET', getPath(deployment));
  if (!answer.ok) return answer.status !== 404;
  return answer.value.status?.placements.some(placement => placement.replica === replica) ?? false;
}

/** The server may be busy or starting, and the replica may be moving to another node. */
function isTemporary(status: number): boolean {
  return status === 404 || status === 429 || status === 503;
}

function getPath(deployment: string, below = ''): string {
  return `${deployments.path}/${encodeURIComponent(deployment)}${below}`;
}

/** How many printed lines are remembered, and requested again after a reconnect. */
const REMEMBERED = 1_000;

/**
 * Prints the output of one replica, each line once, across reconnects.
 *
 * The server has no cursor for a log. After a reconnect the last lines are read again and compared with the last printed
 * ones: only the lines after those are new.
 */
export class LogTail {
  readonly #print: (line: string) => void;
  #printed: string[] = [];
  /** Lines read after a reconnect that are not yet compared. */
  #again: string[] | undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** Prepares for a reconnect. Returns how many lines to request; undefined when none was printed yet. */
  resume(): number | undefined {
    if (this.#printed.length === 0) return undefined;
    this.#again = [];
    return REMEMBERED;
  }

  read(line: string): void {
    if (!this.#again) return this.#printLine(line);
    this.#again.push(line);
    if (this.#again.length >= REMEMBERED) this.settle();
  }

  /** All lines of the past have arrived: prints those that are new. */
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

/** How many of the lines that were read again are known: up to the longest match with the end of `printed`. */
export function countKnown(again: readonly string[], printed: readonly string[]): number {
  let best = { known: 0, matching: 0 };
  for (let known = 1; known <= again.length; known++) {
    const matching = Math.min(known, printed.length);
    const tail = printed.slice(-matching);
    if (matching > best.matching && tail.every((line, at) => line === again[known - matching + at])) {
      best = { known, matching };
    }
  }
  return best.known;
}
