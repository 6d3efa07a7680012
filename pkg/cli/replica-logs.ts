import { type Client, type Exchange, UnreachableFault } from '../client/index.js';
import { backoffMs, sleep } from '../clock/index.js';
import { readLines } from '../ndjson/index.js';
import { type ExitCode, exitCode } from './exit-code.js';
import { deployments } from './kinds.js';
import { LogTail } from './log-tail.js';
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
      } else if (!reached || !mayPass(answer.status)) return session.refused(answer);
      if (!wanted.follow || !(await isWanted(client, wanted))) return exitCode.ok;
    } catch (thrown) {
      if (terminal.interrupted.aborted) return exitCode.ok;
      if (!(thrown instanceof UnreachableFault) || !wanted.follow || !reached) throw thrown;
    }
    await sleep(terminal.clock, backoffMs(++failures, RECONNECT, terminal.random), terminal.interrupted);
  }
  return exitCode.ok;
}

function ask(session: Session, client: Client, wanted: ReplicaLogs, again: number | undefined): Promise<Exchange> {
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
