import type { NodePresence, NodeStatus, StoredNode } from '../../crds/node/index.js';
import { describeSilentEngine } from '../../crds/reasons/index.js';
import type { EventDraft } from '../../pkg/events/index.js';

/** All that is known of one node. */
export interface NodeObservation {
  readonly node: StoredNode;
  /** What is wrong with its record, when it cannot be worked with: `node` is then a substitute. */
  readonly fault?: string;
  readonly presence: NodePresence | undefined;
  /** What is written of it. */
  readonly written: NodeStatus | undefined;
  /** The time that a failed node has to come back is not over yet. */
  readonly inGrace: boolean;
  /** How many replicas are on it, those on their way out included, and primaries of replicated volumes. */
  readonly residents: number;
  /** A process of the control plane keeps a fresh record that it runs on the node. */
  readonly hasPlatformRecord?: boolean;
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
 * when its grace period is over, or at once when an administrator declares the machine off.
 *
 * The liveness of the control plane's own node is read from the platform's own record while that is fresh, else from
 * heartbeats. It is never marked failed; without both, only the state of its containers is unknown.
 */
export function decideNode(facts: NodeObservation, now: string): NodeDecision | undefined {
  const { node, written } = facts;
  const own = written?.id === node.id ? written : undefined;
  const next = deriveStatus({ ...facts, written: own }, now);
  const isSame = (['status', 'reason', 'lost', 'unobservedSince', 'isSilent'] as const).every(
    field => own?.[field] === next[field],
  );
  if (own && isSame) return undefined;

  const since = own?.status === next.status ? own.since : now;
  return {
    status: { id: node.id, ...next, since },
    event: draftEvent(facts, own, next),
    grace: graceFor(own, next, facts.inGrace),
  };
}

type DerivedStatus = Omit<NodeStatus, 'id' | 'since'>;

function deriveStatus(facts: NodeObservation, now: string): DerivedStatus {
  const { node, presence, written: own, hasPlatformRecord } = facts;
  const isPresent = presence?.id === node.id;
  const unobservedSince = isPresent ? presence.unobservedSince : undefined;
  const condition = deriveCondition(facts);
  if (node.controlPlane && !isPresent && !hasPlatformRecord) {
    return { ...condition, unobservedSince: own?.unobservedSince ?? now, isSilent: true };
  }
  return { ...condition, ...(unobservedSince !== undefined && { unobservedSince }) };
}

function deriveCondition(facts: NodeObservation): DerivedStatus {
  const { node, fault, presence, written: own, inGrace, residents, hasPlatformRecord } = facts;
  const isPresent = presence?.id === node.id;
  // Nothing is claimed of what stands on it, and nothing is moved: only that it takes no work is certain.
  if (fault !== undefined) return { status: 'unready', reason: 'record_unusable' };
  if (node.orders?.fence && !isPresent) return { status: 'failed', reason: 'fenced', lost: 'fence' };
  if (isPresent || node.controlPlane) {
    if (node.orders?.drain) return { status: 'draining', reason: residents === 0 ? 'drained' : 'draining' };
    // The control plane's own node is never counted as impaired.
    if (presence?.unobservedSince !== undefined && isPresent && !node.controlPlane) {
      return { status: 'unready', reason: 'engine_unreachable' };
    }
    if (node.controlPlane && hasPlatformRecord) return { status: 'ready', reason: 'platform_record' };
    return { status: 'ready', reason: isPresent ? 'heartbeat_received' : 'platform_record_stale' };
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

function draftEvent(
  { node, fault }: NodeObservation,
  own: NodeStatus | undefined,
  next: DerivedStatus,
): EventDraft | undefined {
  const described = describeChange(own, next, fault);
  if (!described) return undefined;
  const [type, message] = described;
  return {
    type,
    tenant: node.metadata.tenant,
    subject: { kind: 'Node', name: node.name, id: node.id },
    severity: next.status === 'failed' || next.status === 'unready' ? 'warning' : 'info',
    reason: next.reason,
    message,
    data: { from: own?.status ?? null },
  };
}

function describeChange(
  own: NodeStatus | undefined,
  { status, reason, lost, unobservedSince, isSilent }: DerivedStatus,
  fault: string | undefined,
): readonly [EventDraft['type'], string] | undefined {
  if (fault !== undefined) return own?.reason === reason ? undefined : ['node.record_unusable', describeFault(fault)];
  if (lost) return own?.lost ? undefined : ['node.lost', LOST[lost]];
  // That the control plane's own node is silent is not a fault of its engine, and no event.
  const isObservable = status !== 'failed' && !isSilent && !own?.isSilent;
  if (isObservable && (own?.unobservedSince === undefined) !== (unobservedSince === undefined)) {
    return unobservedSince === undefined ? ENGINE_RECOVERED : ENGINE_UNREACHABLE;
  }
  if (reason === 'drained' && own?.reason !== 'drained')
    return [
      'node.drained',
      'The node is drained: no replica and no primary of a replicated volume is left on it, and it takes no work.',
    ];
  if (own?.status === status) return undefined;
  if (status === 'failed')
    return [
      'node.failed',
      'The node’s agent has sent no heartbeat in time: the node takes no new work. Check the machine and its agent.',
    ];
  return status === 'ready' ? ['node.ready', 'The node is ready and takes work.'] : undefined;
}

function describeFault(fault: string): string {
  return `What is stored of the node cannot be worked with (${fault}): it takes no new work. Delete the node and enrol it again; where only what its agent advertises is concerned, restart the agent.`;
}

const ENGINE_UNREACHABLE = [
  'node.engine_unreachable',
  `${describeSilentEngine('The container engine of the node')}. Until then the state of its containers is unknown, and the node takes no new work.`,
] as const;
const ENGINE_RECOVERED = [
  'node.engine_recovered',
  'The container engine of the node answers again, and its containers have been listed.',
] as const;

const LOST = {
  heartbeat_missed:
    'The node has not returned within its grace period: replicas that can run elsewhere are started there.',
  fence: 'An administrator has declared the machine off: its replicas are started elsewhere.',
} as const;
