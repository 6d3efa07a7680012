import { type Client, type RejectionAnswer, type StreamAnswer, UnreachableFault } from '../client/index.js';
import { backoffMs, sleep } from '../clock/index.js';
import { readDocuments } from '../ndjson/index.js';
import { type ExitCode, exitCode } from '../terminal/index.js';
import { deployments, jobs } from './kinds.js';
import { stripControls } from './print/text.js';
import type { Session } from './session.js';
import type { DeploymentView } from '../../crds/deployment/index.js';
import type { JobView } from '../../crds/job/index.js';

const RECONNECT = { firstMs: 250, capMs: 5_000 };
/** For so long is a log that cannot be read retried: a replica may be moving, a server or a node restarting. */
const PATIENCE_MS = 60_000;
/** The server sends a bookmark every 5 s: one that is silent for so long is gone. */
const SILENCE_MS = 20_000;
/** The server waits for the agent of the node, and that for its engine. */
const ANSWER_MS = 30_000;

/** What prints: a replica of a deployment, or an attempt of a job. */
export interface LogOrigin {
  /** As notes name it: `web-0`. */
  readonly label: string;
  readonly path: string;
  readonly query: Readonly<Record<string, number>>;
  /** The command that says more about it. */
  readonly hint: string;
  /** Whether output may follow. */
  readonly isOpen: (client: Client) => Promise<boolean>;
  /** It is in order that its container has ended and is gone. */
  readonly ends?: true;
}

export interface ReplicaLogs {
  readonly source: LogOrigin;
  readonly follow: boolean;
  readonly tail?: number | undefined;
  readonly since?: string | undefined;
  readonly previous?: boolean | undefined;
  readonly print: (line: string) => void;
}

/** One line of the answer. */
interface LogFrame {
  readonly type: 'line' | 'bookmark' | 'gap' | 'removed' | 'end';
  readonly cursor: string | null;
  readonly stream?: string;
  readonly text?: string;
  readonly removedAt?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Why a stream is over; `broken` when the server did not say. */
type StreamEnd = Pick<LogFrame, 'reason' | 'message'> | 'broken';

/**
 * Prints the output of one replica, each line once. A broken connection is resumed after the last line; with `follow`, for as
 * long as the replica exists. Ends with a reason when nothing can be read for a minute.
 */
export async function printReplica(session: Session, client: Client, options: ReplicaLogs): Promise<ExitCode> {
  const { terminal } = session;
  const tail = new LogTail(session, options);
  let failures = 0;
  let readableAt = terminal.clock.monotonic();
  const isPatient = () => terminal.clock.monotonic() - readableAt < PATIENCE_MS;
  while (!terminal.interrupted.aborted) {
    try {
      const answer = await openLogs(session, client, options, tail.cursor);
      if (answer.ok) {
        const end = await tail.read(answer.body);
        if (tail.isAlive) {
          readableAt = terminal.clock.monotonic();
          failures = 0;
        }
        const code = await settleEnd(session, client, options, end);
        if (code !== undefined) return code;
        if (!isPatient()) return tail.giveUp();
      } else if (!mayChange(answer) || !(options.follow || tail.cursor) || !isPatient()) {
        return session.reportRejection(answer);
      } else tail.noteRejection(answer);
    } catch (thrown) {
      if (terminal.interrupted.aborted) return exitCode.ok;
      if (!(thrown instanceof UnreachableFault) || !(tail.isOpened && isPatient())) throw thrown;
    }
    await sleep(terminal.clock, backoffMs(++failures, RECONNECT, terminal.random), terminal.interrupted);
  }
  return exitCode.ok;
}

/** The exit code when nothing can follow; undefined when the log is to be opened again. */
async function settleEnd(
  { terminal, ink }: Session,
  client: Client,
  options: ReplicaLogs,
  end: StreamEnd,
): Promise<ExitCode | undefined> {
  const { source, follow } = options;
  if (end === 'broken') return undefined;
  const { reason, message = '' } = end;
  if (reason === 'complete' && !follow) return exitCode.ok;
  if (reason !== 'complete' && reason !== 'container_gone') {
    // The log of what has ended is kept: the rest of it is read from there.
    if (follow && source.ends) return undefined;
    terminal.err(`${ink.yellow('log broke off')}: ${source.label}: ${stripControls(message)}\n`);
    if (!follow) return exitCode.unreachable;
  }
  return (await source.isOpen(client)) ? undefined : exitCode.ok;
}

function openLogs(
  session: Session,
  client: Client,
  { source, follow, tail, since, previous }: ReplicaLogs,
  cursor: string | undefined,
): Promise<StreamAnswer> {
  const start = cursor === undefined ? { tail, since } : { after: cursor };
  return client.stream(`${source.path}/logs`, {
    query: { follow: follow || undefined, ...start, previous: previous || undefined, ...source.query },
    headers: { accept: 'application/x-ndjson' },
    signal: session.terminal.interrupted,
    timeoutMs: ANSWER_MS,
  });
}

/** The output of a replica. More may follow for as long as it is placed. */
export function toReplicaSource(deployment: string, replica: number): LogOrigin {
  const path = getDeploymentPath(deployment);
  return {
    label: `${deployment}-${replica}`,
    path,
    query: { replica },
    hint: `moor describe deployment ${deployment}`,
    isOpen: async client => {
      const answer = await client.request<DeploymentView>('GET', path);
      if (!answer.ok) return answer.status !== 404;
      return answer.value.status?.placements.some(placement => placement.replica === replica) ?? false;
    },
  };
}

/** The output of an attempt of a job. More may follow until the job runner has stored how it ended. */
export function toAttemptSource(job: string, attempt: number): LogOrigin {
  const path = jobs.pathOf(job);
  return {
    label: `job/${job}-${attempt}`,
    path,
    query: { attempt },
    hint: `moor describe job ${job}`,
    ends: true,
    isOpen: async client => {
      const answer = await client.request<JobView>('GET', path);
      if (!answer.ok) return answer.status !== 404;
      const shown = answer.value.status.history.find(each => each.attempt === attempt);
      return shown?.state === 'Pending' || shown?.state === 'Running';
    },
  };
}

/** The server may be busy or starting, and the replica may be moving to another node or have no container yet. */
function mayChange({ status, rejections }: RejectionAnswer): boolean {
  const [{ code, field }] = rejections;
  if (code === 'deployment_not_found' || (code === 'resource_not_found' && field === 'name')) return false;
  return status === 404 || status === 409 || status === 429 || status >= 500;
}

export function getDeploymentPath(deployment: string): string {
  return `${deployments.path}/${encodeURIComponent(deployment)}`;
}

/** Prints the lines of one replica and remembers where the last one ended. */
class LogTail {
  readonly #session: Session;
  readonly #options: ReplicaLogs;
  /** A line that has no line break yet, by stream. */
  readonly #begun = new Map<string, string>();
  #cursor: string | undefined;
  #isOpened = false;
  #isAlive = false;
  #noted: string | undefined;
  #removedAt: string | undefined;

  constructor(session: Session, options: ReplicaLogs) {
    this.#session = session;
    this.#options = options;
  }

  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** Whether the server has answered once. */
  get isOpened(): boolean {
    return this.#isOpened;
  }

  /** Whether the last stream brought a line or stayed open: one that is over at once has nothing to follow. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  async read(body: AsyncIterable<Buffer>): Promise<StreamEnd> {
    const { terminal } = this.#session;
    this.#isOpened = true;
    this.#isAlive = false;
    this.#noted = undefined;
    const frames = readDocuments(body);
    try {
      for (;;) {
        const silence = new AbortController();
        const next = frames.next();
        next.catch(() => undefined); // it may lose the race
        const frame = await Promise.race([
          next,
          sleep(terminal.clock, SILENCE_MS, silence.signal).then(() => undefined),
        ]);
        silence.abort();
        if (!frame || frame.done) return 'broken';
        const { type, cursor, reason, message } = frame.value as LogFrame;
        if (cursor !== null) this.#cursor = cursor;
        if (type === 'end') {
          this.#finish();
          return { ...(reason && { reason }), ...(message && { message }) };
        }
        this.#isAlive ||= type === 'line' || type === 'bookmark';
        this.#show(frame.value as LogFrame);
      }
    } catch (thrown) {
      if (thrown instanceof UnreachableFault) return 'broken';
      throw thrown;
    } finally {
      void frames.return(undefined).catch(() => undefined);
    }
  }

  /** Says why nothing can be read, once for each reason. */
  noteRejection({ rejections: [first] }: RejectionAnswer): void {
    if (!first || first.code === this.#noted) return;
    this.#noted = first.code;
    this.#note(`waiting: ${first.why}`);
  }

  /** Says that nothing can be followed. */
  giveUp(): ExitCode {
    const { hint } = this.#options.source;
    this.#note(`has printed nothing for a minute and has no container to follow; "${hint}" says why`);
    return exitCode.unreachable;
  }

  #show({ type, stream = '', text = '', removedAt = '' }: LogFrame): void {
    if (type === 'gap') this.#note('lines are missing here: the node no longer has them');
    if (type === 'removed' && removedAt !== this.#removedAt && !this.#options.source.ends) {
      this.#removedAt = removedAt;
      this.#note(`has no container now; its last one was removed at ${stripControls(removedAt)}`);
    }
    if (type !== 'line') return;
    const [last = '', ...lines] = `${this.#begun.get(stream) ?? ''}${text}`.split('\n').toReversed();
    for (const line of lines.toReversed()) this.#options.print(line);
    this.#begun.set(stream, last);
  }

  /** The last line of a container that has ended may lack its line break. */
  #finish(): void {
    for (const line of this.#begun.values()) if (line !== '') this.#options.print(line);
    this.#begun.clear();
  }

  #note(text: string): void {
    this.#session.terminal.err(`${this.#options.source.label} ${text}\n`);
  }
}
