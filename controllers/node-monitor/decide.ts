import type { NodePresence, NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { EventDraft } from '../../pkg/events/index.js';

/** What is to be written about a node. */
export interface NodeDecision {
  readonly status: NodeStatus;
  readonly event: EventDraft | undefined;
}

/**
 * Says how a node is. Undefined when what is written still holds.
 *
 * A node is heard while its presence stands, which is as long as its lease: the silence that an operator allows has
 * passed already when the presence is gone. A node that was never heard is joining, not failed. The control plane's own
 * node is the platform's business and is never called failed.
 */
export function decideNode(
  node: StoredNode,
  presence: NodePresence | undefined,
  written: NodeStatus | undefined,
  now: string,
): NodeDecision | undefined {
  const own = written?.id === node.id ? written : undefined;
  const next = judge(node, presence?.id === node.id, own);
  if (own?.status === next.status && own.reason === next.reason) return undefined;

  const since = own?.status === next.status ? own.since : now;
  return { status: { id: node.id, ...next, since }, event: announce(node, own, next) };
}

type Judgement = Pick<NodeStatus, 'status' | 'reason'>;

function judge(node: StoredNode, heard: boolean, own: NodeStatus | undefined): Judgement {
  if (node.controlPlane) return { status: 'ready', reason: 'platform_record' };
  if (heard) return own?.status === 'draining' ? own : { status: 'ready', reason: 'heard' };
  if (!own || own.status === 'joining') return { status: 'joining', reason: 'not_heard_yet' };
  return { status: 'failed', reason: 'silent' };
}

function announce(
  node: StoredNode,
  own: NodeStatus | undefined,
  { status, reason }: Judgement,
): EventDraft | undefined {
  if (own?.status === status || (status !== 'ready' && status !== 'failed')) return undefined;
  return {
    type: status === 'ready' ? 'node.ready' : 'node.failed',
    tenant: node.metadata.tenant,
    subject: { kind: 'Node', name: node.name, id: node.id },
    severity: status === 'ready' ? 'info' : 'warning',
    reason,
    message: status === 'ready' ? 'The node takes work.' : 'The node’s agent has not been heard for too long.',
    data: { from: own?.status ?? null },
  };
}
