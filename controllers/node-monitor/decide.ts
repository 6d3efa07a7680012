import type { NodePresence, NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { EventDraft } from '../../pkg/events/index.js';

/** All that is known of one node. */
export interface NodeObservation {
  readonly node: StoredNode;
  readonly presence: NodePresence | undefined;
  /** What is written of it. */
  readonly written: NodeStatus | undefined;
  /** The time that a failed node has to come back is not over yet. */
  readonly inGrace: boolean;
  /** How many replicas are on it, those on their way out included. */
  readonly residents: number;
}

/** What is to be written about a node. */
export interface NodeDecision {
  readonly status: NodeStatus;
  readonly event: EventDraft | undefined;
  /** The time to come back begins, or is no longer needed. Undefined: it stays as it is. */
  readonly grace: 'begins' | 'ends' | undefined;
}

/**
 * Says how a node is. Undefined when what is written still holds.
 *
 * A node is heard while its presence stands, which is as long as its lease: the silence that an operator allows has
 * passed already when the presence is gone. A node that was never heard is joining, not failed. What is on a failed node
 * counts as lost when its grace is over, or at once when an administrator says that the machine is off. The control
 * plane's own node is the platform's business and is never called failed.
 */
export function decideNode(facts: NodeObservation, now: string): NodeDecision | undefined {
  const { node, written } = facts;
  const own = written?.id === node.id ? written : undefined;
  const next = judge({ ...facts, written: own });
  if (own?.status === next.status && own.reason === next.reason && own.lost === next.lost) return undefined;

  const since = own?.status === next.status ? own.since : now;
  return {
    status: { id: node.id, ...next, since },
    event: announce(node, own, next),
    grace: graceFor(own, next, facts.inGrace),
  };
}

type Judgement = Pick<NodeStatus, 'status' | 'reason' | 'lost'>;

function judge({ node, presence, written: own, inGrace, residents }: NodeObservation): Judgement {
  const heard = presence?.id === node.id;
  if (node.orders?.fence && !heard) return { status: 'failed', reason: 'fenced', lost: 'fence' };
  if (heard || node.controlPlane) {
    if (node.orders?.drain) return { status: 'draining', reason: residents === 0 ? 'drained' : 'draining' };
    return { status: 'ready', reason: heard ? 'heard' : 'platform_record' };
  }
  if (!own || own.status === 'joining') return { status: 'joining', reason: 'not_heard_yet' };
  if (own.status === 'failed' && !inGrace) return { status: 'failed', reason: 'silent', lost: 'silence' };
  return { status: 'failed', reason: 'silent' };
}

function graceFor(own: NodeStatus | undefined, next: Judgement, inGrace: boolean): NodeDecision['grace'] {
  if (next.status === 'failed' && !next.lost && own?.status !== 'failed') return 'begins';
  return inGrace && (next.status !== 'failed' || next.lost) ? 'ends' : undefined;
}

function announce(node: StoredNode, own: NodeStatus | undefined, next: Judgement): EventDraft | undefined {
  const said = sayingOf(own, next);
  if (!said) return undefined;
  const [type, message] = said;
  return {
    type,
    tenant: node.metadata.tenant,
    subject: { kind: 'Node', name: node.name, id: node.id },
    severity: next.status === 'failed' ? 'warning' : 'info',
    reason: next.reason,
    message,
    data: { from: own?.status ?? null },
  };
}

function sayingOf(
  own: NodeStatus | undefined,
  { status, reason, lost }: Judgement,
): readonly [EventDraft['type'], string] | undefined {
  if (lost) return own?.lost ? undefined : ['node.lost', LOST[lost]];
  if (reason === 'drained') return ['node.drained', 'The node is empty and takes no work.'];
  if (own?.status === status) return undefined;
  if (status === 'failed') return ['node.failed', 'The node’s agent has not been heard for too long.'];
  return status === 'ready' ? ['node.ready', 'The node takes work.'] : undefined;
}

const LOST = {
  silence: 'The node has not come back in time: what can run elsewhere is started there.',
  fence: 'An administrator says that the machine is off: what was on it is started elsewhere.',
} as const;
