import { getStatedReplicas, type DeploymentView, assessReadiness } from '../../../crds/deployment/index.js';
import { formatCount } from '../../../crds/grammar/index.js';
import { describePull } from '../../../crds/report/pull.js';
import type { Client, WatchChange } from '../../client/index.js';
import {
  type ExitCode,
  exitCode,
  type LiveArea,
  type Deadline,
  reportConnection,
  startDeadline,
  type WaitOptions,
} from '../../terminal/index.js';
import { deployments, events } from '../kinds.js';
import { loadNodeNames } from './describe-env.js';
import { formatReplicaTroubles, nameReplicaNode } from './describe-replicas.js';
import { formatSteps, formatWaiting } from './describe-steps.js';
import { formatBar } from '../print/progress.js';
import { formatScaling } from '../../../crds/deployment/rollout-text.js';
import { paintState, stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { EventView } from '../../../crds/event/index.js';

interface StatusInput extends WaitOptions {
  readonly name: string;
  readonly watch?: boolean;
  readonly untilReady?: boolean;
}

/** Shows the status of a deployment: once, as a live tail, or until it is ready. */
export const status: Command<StatusInput> = async (session, input) => {
  const client = await session.connect();
  // Before a watch too: the server refuses a name that does not exist.
  const answer = await client.request<DeploymentView>('GET', `${deployments.path}/${encodeURIComponent(input.name)}`);
  if (!answer.ok) return session.reportRejection(answer);
  if (input.watch || input.untilReady) {
    const { live } = session.terminal;
    return live ? followLive(session, live, client, input) : follow(session, client, input);
  }
  session.terminal.out(formatStatus(session, answer.value, await loadNodeNames(client)));
  return exitCode.ok;
};

async function follow(session: Session, client: Client, input: StatusInput): Promise<ExitCode> {
  const deadline = startDeadline(session.terminal, input);
  try {
    const options = { signal: deadline.signal, onConnection: reportConnection(session.terminal) };
    for await (const change of client.watch<DeploymentView>(deployments.path, options)) {
      const code = printChange(session, input, change);
      if (code !== undefined) return code;
    }
    return reportTimeout(session, deadline, input.name);
  } finally {
    deadline.end();
  }
}

/** The same on a terminal: one view of steps, replicas and the last event, drawn again at each change. */
async function followLive(session: Session, live: LiveArea, client: Client, input: StatusInput): Promise<ExitCode> {
  const deadline = startDeadline(session.terminal, input);
  const over = new AbortController();
  const signal = AbortSignal.any([deadline.signal, over.signal]);
  const nodeName = await loadNodeNames(client);
  let view: DeploymentView | undefined;
  let event: EventView | undefined;
  let link = '';
  const draw = () => {
    if (view) live.draw([...formatLive(session, view, nodeName, event), ...(link ? [session.ink.yellow(link)] : [])]);
  };
  const onConnection = (isUp: boolean) => {
    link = isUp ? '' : 'connection lost, resuming';
    draw();
  };
  const readEvents = async () => {
    const query = { subject: input.name };
    for await (const change of client.watch<EventView>(events.path, { signal, query })) {
      if (change.type === 'refused') return;
      if (change.type === 'bookmark' || change.type === 'deleted') continue;
      if (event === undefined || change.object.lastSeenAt >= event.lastSeenAt) event = change.object;
      draw();
    }
  };
  const reading = readEvents();
  try {
    for await (const change of client.watch<DeploymentView>(deployments.path, { signal, onConnection })) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark' || change.object.name !== input.name) continue;
      view = change.object;
      draw();
      const code = judgeChange(session, input, change.type, view);
      if (code !== undefined) return code;
    }
    return reportTimeout(session, deadline, input.name);
  } finally {
    over.abort();
    deadline.end();
    await reading.catch(() => undefined);
  }
}

/** The lines of the live view. */
function formatLive(
  session: Session,
  view: DeploymentView,
  nodeName: (id: string) => string,
  event: EventView | undefined,
): readonly string[] {
  const { ink } = session;
  const last = event ? `${ink.bold('Last event:')} ${event.type}  ${event.message}` : '';
  return [...formatStatus(session, view, nodeName, formatSteps).split('\n'), last].filter(line => line !== '');
}

/** Prints one line of the tail. Returns an exit code when there is nothing left to wait for. */
function printChange(session: Session, input: StatusInput, change: WatchChange<DeploymentView>): ExitCode | undefined {
  if (change.type === 'refused') return session.reportRejection(change.refusal);
  if (change.type === 'bookmark' || change.object.name !== input.name) return undefined;
  if (change.type !== 'deleted')
    session.terminal.out(`${formatTime(session)}  ${formatStatusLine(session, change.object)}\n`);
  return judgeChange(session, input, change.type, change.object);
}

function judgeChange(
  session: Session,
  input: StatusInput,
  type: 'added' | 'modified' | 'deleted',
  view: DeploymentView,
): ExitCode | undefined {
  if (type === 'deleted') {
    session.terminal.out(`${formatTime(session)}  ${session.ink.red('deleted')}\n`);
    return input.untilReady ? exitCode.notFound : exitCode.ok;
  }
  if (!input.untilReady) return undefined;
  const ready = assessReadiness(view);
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

function formatTime({ terminal, ink }: Session): string {
  return ink.dim(new Date(terminal.clock.now()).toISOString().slice(11, 23));
}

/** `Progressing  1/2 ready  0: running/healthy  1: pulling/none  waiting for …` */
function formatStatusLine(
  { ink }: Session,
  { status: current, replicas: specified, metadata }: DeploymentView,
): string {
  const replicas = getStatedReplicas({ replicas: specified, ...(current && { status: current }) });
  if (!current) return `${ink.yellow('Pending')}  0/${replicas} ready`;
  const stale = current.observedGeneration < metadata.generation ? ink.dim('  (of an earlier generation)') : '';
  const placements = current.placements
    .map(({ replica, state, health, pull }) => `${replica}:${state}/${health}${pull ? ` ${describePull(pull)}` : ''}`)
    .join(' ');
  const rest = stripControls([placements, current.message].filter(Boolean).join('  '));
  return `${paintState(ink, current.phase)}  ${current.readyReplicas}/${replicas} ready  ${rest}${stale}`;
}

/** The whole status, as lines; below it, of each replica of which something is wrong, what its container wrote. */
function formatStatus(
  session: Session,
  view: DeploymentView,
  nodeName: (id: string) => string,
  formatWay = formatWaiting,
): string {
  const { ink } = session;
  const now = session.terminal.clock.now();
  const rows = (view.status?.placements ?? []).map(placement => {
    const { replica, state, health, restarts, pull } = placement;
    const node = stripControls(nameReplicaNode(placement, nodeName) ?? 'no node yet');
    const states = [state, health].map(word => paintState(ink, stripControls(word))).join('  ');
    const bar = pull ? `  ${formatBar(pull.receivedBytes, pull.totalBytes)} ${describePull(pull)}` : '';
    return `  replica ${replica}  ${node}  ${states}  ${formatCount(restarts, 'restart')}${bar}\n`;
  });
  const way = formatWay(view, { ink, now });
  const troubles = formatReplicaTroubles(view.status, { ink, now, nodeName, deployment: view.name });
  const { scaling } = view.status ?? {};
  const scaled = scaling ? `  scaling: ${stripControls(formatScaling(scaling))}\n` : '';
  const head = `${ink.bold(stripControls(view.name))}  ${formatStatusLine(session, view)}\n`;
  return `${head}${rows.join('')}${scaled}${way}${troubles}`;
}
