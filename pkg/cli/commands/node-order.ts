import { formatCount } from '../../../crds/grammar/index.js';
import type { VolumeView } from '../../../crds/volume/index.js';
import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, startDeadline, type WaitOptions } from '../../terminal/index.js';
import { nodes, volumes } from '../kinds.js';
import { stripControls } from '../print/text.js';
import { type ProgressView, showProgress } from '../progress.js';
import type { Command, Session } from '../session.js';
import type { NodeView } from '../../../crds/node/index.js';
import type { NodeReplicasView } from './describe-node.js';

/** Operations on a node, and its state afterwards. */
const ORDERED = { drain: 'draining', undrain: 'schedulable again', fence: 'fenced' } as const;

interface NodeOrderInput extends WaitOptions {
  readonly order: keyof typeof ORDERED;
  readonly name: string;
  /** With drain: wait until the node is empty. */
  readonly wait?: boolean;
}

/** Drains, undrains or fences a node. */
export const orderNode: Command<NodeOrderInput> = async (session, { order, name, wait, ...options }) => {
  const { terminal, ink } = session;
  const client = await session.connect();
  const answer = await client.request<NodeView>('POST', `${nodes.path}/${encodeURIComponent(name)}/${order}`);
  if (!answer.ok) return session.reportRejection(answer);
  const { value: node } = answer;
  terminal.out(`node/${node.name} ${ink.yellow(ORDERED[order])}\n`);
  if (!wait) return exitCode.ok;

  const code = await untilDrained(session, client, node, options);
  if (code === exitCode.ok) terminal.out(`node/${node.name} ${ink.green('drained')}\n`);
  if (code === exitCode.timedOut) {
    const rest = await fetchRemaining(client, node).catch(() => undefined);
    const said = rest?.summary ?? `node/${stripControls(node.name)} still has replicas or primaries of volumes`;
    const lines = [`${said}; the drain continues`, ...(rest?.parts ?? []).map(part => `  ${part}`)];
    terminal.err(`${lines.join('\n')}\n`);
  }
  return code;
};

async function untilDrained(
  session: Session,
  client: Client,
  ordered: NodeView,
  options: WaitOptions,
): Promise<ExitCode> {
  const deadline = startDeadline(session.terminal, options);
  const over = new AbortController();
  const signal = AbortSignal.any([deadline.signal, over.signal]);
  const showing = showProgress(session, signal, () => fetchRemaining(client, ordered, signal));
  let seen = false;
  try {
    for await (const change of client.watch<NodeView>(nodes.path, { signal })) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark') {
        if (!seen) return reportNotDraining(session, ordered, 'gone');
      } else if (change.object.id === ordered.id) {
        seen = true;
        const { metadata, status, schedulable } = change.object;
        if (change.type === 'deleted') return reportNotDraining(session, ordered, 'gone');
        // A server that lags shows the node as it was before the order.
        if (metadata.generation < ordered.metadata.generation) continue;
        if (status !== 'draining') return reportNotDraining(session, ordered, status);
        if (schedulable.reason === 'drained') return exitCode.ok;
      }
    }
    return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
  } finally {
    over.abort();
    deadline.end();
    await showing;
  }
}

/** What is still on a node that is drained: replicas, attempts of jobs, and primaries of replicated volumes. */
async function fetchRemaining(
  client: Client,
  { id, name }: NodeView,
  signal?: AbortSignal,
): Promise<ProgressView | undefined> {
  const options = signal ? { signal } : {};
  const [placed, held] = await Promise.all([
    client.request<NodeReplicasView>('GET', `${nodes.path}/${encodeURIComponent(id)}/replicas`, options),
    client.all<VolumeView>(volumes.path, options),
  ]);
  if (!placed.ok || !held.ok) return undefined;
  const replicas = placed.value.items;
  const primaries = held.value.items.filter(each => each.class === 'replicated' && each.primaryNode === id);
  const counts = [
    replicas.length > 0 && formatCount(replicas.length, 'replica'),
    primaries.length > 0 && formatCount(primaries.length, 'volume'),
  ];
  return {
    summary: `node/${stripControls(name)} still has ${counts.filter(Boolean).join(' and ') || 'nothing that is known'}`,
    parts: [
      ...replicas.map(({ deployment, replica, state, retiringSince }) =>
        stripControls(`${deployment}/${replica}  ${state}${retiringSince === null ? '' : ', on its way out'}`),
      ),
      ...primaries.map(({ name: volume, move }) =>
        stripControls(`volume ${volume}  ${move ? `${move.phase}: ${move.message}` : 'waits for its move'}`),
      ),
    ],
  };
}

function reportNotDraining({ terminal }: Session, { name }: NodeView, state: string): ExitCode {
  terminal.err(`node/${name} is ${state} and no longer draining\n`);
  return exitCode.refused;
}
