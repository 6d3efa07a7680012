import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { EventType } from '../../crds/kinds/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { isMovable } from '../reading/index.js';
import { ROLLING_OUT, VIOLATED } from './conditions.js';
import { isHeld, type ReplicaSummary, toFailureReason } from './summary.js';

/**
 * The events of a change of status: one for a new phase, one for a roll-out that has ended, and one for replicas that
 * break the residency and cannot be moved. The replica keeper writes the event of those that it moves.
 */
export function draftStatusEvents(
  deployment: StoredDeployment,
  previous: DeploymentStatus | undefined,
  status: DeploymentStatus,
  summary: ReplicaSummary,
): readonly EventDraft[] {
  const draft = (type: EventType, change: Partial<EventDraft> = {}): EventDraft => ({
    type,
    tenant: deployment.metadata.tenant,
    subject: { kind: 'Deployment', name: deployment.name, id: deployment.metadata.uid },
    reason: type.split('.')[1]!,
    message: status.message,
    data: { phase: status.phase, from: previous?.phase ?? null, generation: status.observedGeneration },
    ...change,
  });

  const events: EventDraft[] = [];
  const event = previous?.phase === status.phase ? undefined : phaseEvent(previous, status, summary);
  if (event) events.push(draft(event.type, event.change));
  if (isRolling(previous) && !isRolling(status) && status.phase === 'Running') {
    events.push(draft('deployment.rollout_completed'));
  }
  if (isViolated(status) && !isViolated(previous) && !isMovable(deployment)) {
    const { message = '' } = status.conditions.find(({ reason }) => reason === VIOLATED) ?? {};
    events.push(draft('deployment.residency_violated', { severity: 'warning', message }));
  }
  return events;
}

interface PhaseEvent {
  readonly type: EventType;
  readonly change?: Partial<EventDraft>;
}

function phaseEvent(
  previous: DeploymentStatus | undefined,
  { phase }: DeploymentStatus,
  summary: ReplicaSummary,
): PhaseEvent | undefined {
  if (phase === 'Running') return { type: wasImpaired(previous) ? 'deployment.recovered' : 'deployment.running' };
  if (phase === 'Progressing') return { type: 'deployment.progressing' };
  if (phase === 'Stopped') return { type: 'deployment.stopped' };
  if (phase === 'Waiting') {
    return { type: 'deployment.waiting', change: { reason: isHeld(summary) ? 'dependency' : 'residency' } };
  }
  if (phase !== 'Degraded') return undefined;
  const [failing] = summary.failing;
  const reason = summary.unresolved?.reason ?? (failing && toFailureReason(failing));
  return { type: 'deployment.degraded', change: { severity: 'warning', ...(reason !== undefined && { reason }) } };
}

function wasImpaired(previous: DeploymentStatus | undefined): boolean {
  return previous?.phase === 'Degraded' || previous?.phase === 'Failed';
}

function isRolling(status: DeploymentStatus | undefined): boolean {
  return status?.conditions.some(({ reason, status: holds }) => reason === ROLLING_OUT && holds === 'True') ?? false;
}

function isViolated(status: DeploymentStatus | undefined): boolean {
  return status?.conditions.some(({ reason }) => reason === VIOLATED) ?? false;
}
