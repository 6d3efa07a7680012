import type { Client } from '../../client/index.js';
import { sleep } from '../../clock/index.js';
import { type ExitCode, exitCode, passExitCode, UsageFault } from '../../terminal/index.js';
import { jobs } from '../kinds.js';
import { stripControls } from '../print/text.js';
import { printReplica, toAttemptSource } from '../replica-logs.js';
import type { Command, Session } from '../session.js';
import type { JobView } from '../../../crds/job/index.js';
import { printLine } from './logs.js';

interface RunInput {
  readonly image: string;
  readonly command: readonly string[];
  readonly name?: string;
  readonly env?: readonly string[];
  readonly node?: string;
  readonly restart?: string;
  readonly retries?: number;
  readonly timeout?: number;
  readonly detach?: boolean;
}

const LOOK_EVERY_MS = 300;
/** A job without a given name is removed by itself, after an hour in which its log can be read again. */
const KEPT_SECONDS = 3_600;

/** Runs a job, prints its output, and passes its exit code on. An interrupt stops it. */
export const runImage: Command<RunInput> = async (session, input) => {
  const client = await session.connect();
  const document = toDocument(session, input);
  const answer = await client.request<JobView>('POST', jobs.path, { body: document });
  if (!answer.ok) return session.reportRejection(answer);
  const { name } = answer.value;
  if (input.detach) {
    session.terminal.out(`job/${name} ${session.ink.green('created')}\n`);
    return exitCode.ok;
  }
  const code = await follow(session, client, name);
  if (!session.terminal.interrupted.aborted) return code;
  const deleted = await client.request('DELETE', jobs.pathOf(name));
  if (deleted.ok || deleted.status === 404) session.terminal.err(`job/${name} is stopped and deleted\n`);
  else {
    session.reportRejection(deleted);
    session.terminal.err(`job/${name} was not deleted and may still run: "moor delete job ${name}" deletes it\n`);
  }
  return exitCode.interrupted;
};

function toDocument({ terminal }: Session, input: RunInput) {
  const { image, command, name, env = [], node, restart, timeout } = input;
  const retries = input.retries ?? (restart === undefined ? 0 : undefined);
  const pairs = env.map(pair => {
    const [variable = '', ...rest] = pair.split('=');
    if (variable === '' || rest.length === 0) throw new UsageFault(`--env ${pair}: must be NAME=value.`);
    return [variable, rest.join('=')] as const;
  });
  return {
    kind: 'Job',
    name: name ?? `run-${terminal.random.uuid().slice(0, 8)}`,
    image,
    ...(restart !== undefined && { restartPolicy: restart }),
    ...(retries !== undefined && { backoffLimit: retries }),
    ...(command.length > 0 && { command }),
    ...(pairs.length > 0 && { environment: Object.fromEntries(pairs) }),
    ...(node !== undefined && { nodeId: node }),
    ...(timeout !== undefined && { timeoutSeconds: Math.max(1, Math.ceil(timeout / 1000)) }),
    ...(name === undefined && { ttlSecondsAfterFinished: KEPT_SECONDS }),
  };
}

/** Prints attempt after attempt, until the job has ended. */
async function follow(session: Session, client: Client, name: string): Promise<ExitCode> {
  const { terminal, ink } = session;
  let printedMessage = '';
  for (let printed = -1; !terminal.interrupted.aborted; ) {
    const answer = await client.request<JobView>('GET', jobs.pathOf(name));
    if (!answer.ok) return session.reportRejection(answer);
    const { status } = answer.value;
    const shown = status.history.find(({ attempt }) => attempt > printed);
    if (shown && (shown.state !== 'Pending' || shown !== status.history.at(-1))) {
      if (shown.startedAt !== undefined) await printAttempt(session, client, name, shown.attempt);
      printed = shown.attempt;
      continue;
    }
    if (status.phase === 'Succeeded') return exitCode.ok;
    if (status.phase === 'Failed') {
      terminal.err(`job/${name} ${ink.red('failed')}: ${stripControls(status.message)}\n`);
      return status.exitCode ? passExitCode(status.exitCode) : exitCode.refused;
    }
    // What keeps it waiting is printed once.
    if (status.reason !== undefined && status.message !== printedMessage) {
      printedMessage = status.message;
      terminal.err(`job/${name} ${ink.yellow('waits')}: ${stripControls(printedMessage)}\n`);
    }
    await sleep(terminal.clock, LOOK_EVERY_MS, terminal.interrupted);
  }
  return exitCode.interrupted;
}

function printAttempt(session: Session, client: Client, name: string, attempt: number): Promise<ExitCode> {
  const print = (line: string) => printLine(session, '', line);
  return printReplica(session, client, { source: toAttemptSource(name, attempt), follow: true, print });
}
