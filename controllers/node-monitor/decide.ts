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
 * Decides the status of a node. Undefined when the stored status still holds.
 *
 * A node is present while its lease lasts: when the presence key is gone, the time that an operator allows between
 * heartbeats is over. A node that never sent a heartbeat is joining, not failed. The replicas on a failed node count as lost
 * when its grace period is over, or at once when an administrator declares the machine off. The control plane's own node is
 * never marked failed.
 */
export function decideNode(facts: NodeObservation, now: string): NodeDecision | undefined {
  const { node, written } = facts;
  const own = written?.id === node.id ? written : undefined;
  const next = deriveStatus({ ...facts, written: own });
  if (own?.status === next.status && own.reason === next.reason && own.lost === next.lost) {
    if (own.unobservedSince === next.unobservedSince) return undefined;
  }

  const since = own?.status === next.status ? own.since : now;
  return {
    status: { id: node.id, ...next, since },
    event: draftEvent(node, own, next),
    grace: graceFor(own, next, facts.inGrace),
  };
}

type DerivedStatus = Pick<NodeStatus, 'status' | 'reason' | 'lost' | 'unobservedSince'>;

function deriveStatus(facts: NodeObservation): DerivedStatus {
  const { node, presence } = facts;
  const unobservedSince = presence?.id === node.id ? presence.unobservedSince : undefined;
  return { ...deriveCondition(facts), ...(unobservedSince !== undefined && { unobservedSince }) };
}

function deriveCondition({ node, presence, written: own, inGrace, residents }: NodeObservation): DerivedStatus {
  const isPresent = presence?.id === node.id;
  if (node.orders?.fence && !isPresent) return { status: 'failed', reason: 'fenced', lost: 'fence' };
  if (isPresent || node.controlPlane) {
    if (node.orders?.drain) return { status: 'draining', reason: residents === 0 ? 'drained' : 'draining' };
    return { status: 'ready', reason: isPresent ? 'heartbeat_received' : 'platform_record' };
  }
  if (!own || own.status === 'joining') return { status: 'joining', reason: 'no_heartbeat_yet' };
  if (own.status === 'failed' && !inGrace)
    return { status: 'failed', reason: 'heartbeat_missed', lost: 'heartbeat_missed' };
  return { status: 'failed', reason: 'heartbeat_missed' };
}

function graceFor(own: NodeStatus | undefined, next: DerivedStatus, inGrace: boolean): NodeDecision['grace'] {
  if (next.status === 'failed' && !next.lost && own?.status !== 'failed') return 'begins';
  return inGrace && (next.status !== 'failed' || next.lost) ? 'ends' : undefined;
}

function draftEvent(node: StoredNode, own: NodeStatus | undefined, next: DerivedStatus): EventDraft | undefined {
  const described = describeChange(own, next);
  if (!described) return undefined;
  const [type, message] = described;
  return {
    type,
    tenant: node.metadata.tenant,
    subject: { kind: 'Node', name: node.name, id: node.id },
    severity: next.status === 'failed' || type === 'node.unobserved' ? 'warning' : 'info',
    reason: next.reason,
    message,
    data: { from: own?.status ?? null },
  };
}

function describeChange(
  own: NodeStatus | undefined,
  { status, reason, lost, unobservedSince }: DerivedStatus,
): readonly [EventDraft['type'], string] | undefined {
  if (lost) return own?.lost ? undefined : ['node.lost', LOST[lost]];
  if (reason === 'drained')
    return ['node.drained', 'The node is drained: no replica is left on it, and it takes no work.'];
  if (own?.status === status) {
    if (unobservedSince !== undefined) return own.unobservedSince === undefined ? UNOBSERVED : undefined;
    return own.unobservedSince === undefined ? undefined : OBSERVED;
  }
  if (status === 'failed')
    return [
      'node.failed',
      'The node’s agent has sent no heartbeat in time: the node takes no new work. Check the machine and its agent.',
    ];
  return status === 'ready' ? ['node.ready', 'The node is ready and takes work.'] : undefined;
}

const UNOBSERVED = [
  'node.unobserved',
  'The node’s agent cannot see its containers: their state is unknown. Check the container engine of the machine.',
] as const;
const OBSERVED = ['node.observed', 'The node’s agent sees its containers again.'] as const;

const LOST = {
  heartbeat_missed:
    'The node has not returned within its grace period: replicas that can run elsewhere are started there.',
  fence: 'An administrator has declared the machine off: its replicas are started elsewhere.',
} as const;
