import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode } from '../exit-code.js';
import { nodes } from '../kinds.js';
import type { Command, Session } from '../session.js';
import { startDeadline, type WaitOptions } from '../terminal.js';
import type { NodeView } from '../views.js';

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
  if (code === exitCode.timedOut) terminal.err(`node/${node.name} still has replicas; the drain continues\n`);
  return code;
};

async function untilDrained(
  session: Session,
  client: Client,
  ordered: NodeView,
  options: WaitOptions,
): Promise<ExitCode> {
  const deadline = startDeadline(session.terminal, options);
  let seen = false;
  try {
    for await (const change of client.watch<NodeView>(nodes.path, { signal: deadline.signal })) {
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
    deadline.end();
  }
}

function reportNotDraining({ terminal }: Session, { name }: NodeView, state: string): ExitCode {
  terminal.err(`node/${name} is ${state} and no longer draining\n`);
  return exitCode.refused;
}
