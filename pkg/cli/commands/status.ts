import { formatCount } from '../../../crds/grammar/index.js';
import type { WatchChange } from '../../client/index.js';
import { type ExitCode, exitCode } from '../exit-code.js';
import { deployments } from '../kinds.js';
import { loadNodeNames } from './describe.js';
import { paintState, plain } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { type Deadline, startDeadline } from '../terminal.js';
import { type DeploymentView, assessReadiness } from '../views.js';

interface StatusInput {
  readonly name: string;
  readonly watch: boolean;
  readonly untilReady: boolean;
  readonly timeoutMs: number | undefined;
}

/** Shows how a deployment is doing: once, as a live tail, or until it is ready. */
export const status: Command<StatusInput> = async (session, input) => {
  if (input.watch || input.untilReady) return follow(session, input);

  const client = await session.connect();
  const answer = await client.request<DeploymentView>('GET', `${deployments.path}/${encodeURIComponent(input.name)}`);
  if (!answer.ok) return session.reportRejection(answer);
  session.terminal.out(statusText(session, answer.value, await loadNodeNames(client)));
  return exitCode.ok;
};

async function follow(session: Session, input: StatusInput): Promise<ExitCode> {
  const { terminal } = session;
  const client = await session.connect();
  // A name that does not exist is refused in the server's own words, at once.
  const first = await client.request<DeploymentView>('GET', `${deployments.path}/${encodeURIComponent(input.name)}`);
  if (!first.ok) return session.reportRejection(first);

  const deadline = startDeadline(terminal, input.timeoutMs);
  try {
    const onConnection = (up: boolean) => terminal.err(up ? 'reconnected\n' : 'connection lost, resuming\n');
    for await (const change of client.watch<DeploymentView>(deployments.path, {
      signal: deadline.signal,
      onConnection,
    })) {
      const code = printChange(session, input, change);
      if (code !== undefined) return code;
    }
    return reportTimeout(session, deadline, input.name);
  } finally {
    deadline.end();
  }
}

/** Prints one line of the tail. Returns an exit code when there is nothing left to wait for. */
function printChange(session: Session, input: StatusInput, change: WatchChange<DeploymentView>): ExitCode | undefined {
  if (change.type === 'refused') return session.reportRejection(change.refusal);
  if (change.type === 'bookmark' || change.object.name !== input.name) return undefined;
  if (change.type === 'deleted') {
    session.terminal.out(`${time(session)}  ${session.ink.red('deleted')}\n`);
    return input.untilReady ? exitCode.notFound : exitCode.ok;
  }
  session.terminal.out(`${time(session)}  ${statusLine(session, change.object)}\n`);
  if (!input.untilReady) return undefined;
  const ready = assessReadiness(change.object);
  if (ready === 'notYet') return undefined;
  return ready === 'yes' ? exitCode.ok : exitCode.refused;
}

function reportTimeout({ terminal, ink }: Session, deadline: Deadline, name: string): ExitCode {
  if (!deadline.passed) return exitCode.interrupted;
  terminal.err(
    `${ink.red('timed out')} waiting for deployment/${name}; "moor describe deployment ${name}" shows why\n`,
  );
  return exitCode.timedOut;
}

function time({ terminal, ink }: Session): string {
  return ink.dim(new Date(terminal.clock.now()).toISOString().slice(11, 23));
}

/** `Progressing  1/2 ready  0: running/healthy  1: pulling/none  waiting for …` */
function statusLine({ ink }: Session, { status: seen, replicas, metadata }: DeploymentView): string {
  if (!seen) return `${ink.yellow('Pending')}  0/${replicas} ready`;
  const stale = seen.observedGeneration < metadata.generation ? ink.dim('  (of an earlier generation)') : '';
  const placements = seen.placements.map(({ replica, state, health }) => `${replica}:${state}/${health}`).join(' ');
  const rest = plain([placements, seen.message].filter(Boolean).join('  '));
  return `${paintState(ink, seen.phase)}  ${seen.readyReplicas}/${replicas} ready  ${rest}${stale}`;
}

/** The whole status, as lines. */
function statusText(session: Session, view: DeploymentView, nodeName: (id: string) => string): string {
  const { ink } = session;
  const rows = (view.status?.placements ?? []).map(({ replica, nodeId, state, health, restarts }) => {
    const where = nodeId ? nodeName(nodeId) : 'no node yet';
    return `  replica ${replica}  ${plain(where)}  ${paintState(ink, plain(state))}  ${paintState(ink, plain(health))}  ${formatCount(restarts, 'restart')}\n`;
  });
  return `${ink.bold(view.name)}  ${statusLine(session, view)}\n${rows.join('')}`;
}
