import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { EventType } from '../../crds/event/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { ROLLING_OUT } from './conditions.js';

/** The events that a change of status amounts to: one for a new phase, and one for a roll-out that has ended. */
export function announce(
  deployment: StoredDeployment,
  previous: DeploymentStatus | undefined,
  status: DeploymentStatus,
  trouble: string | undefined,
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
  if (previous?.phase !== status.phase) {
    if (status.phase === 'Running')
      events.push(draft(wasImpaired(previous) ? 'deployment.recovered' : 'deployment.running'));
    if (status.phase === 'Progressing') events.push(draft('deployment.progressing'));
    if (status.phase === 'Stopped') events.push(draft('deployment.stopped'));
    if (status.phase === 'Degraded') {
      events.push(draft('deployment.degraded', { severity: 'warning', ...(trouble && { reason: trouble }) }));
    }
  }
  if (isRolling(previous) && !isRolling(status) && status.phase === 'Running') {
    events.push(draft('deployment.rollout_completed'));
  }
  return events;
}

function wasImpaired(previous: DeploymentStatus | undefined): boolean {
  return previous?.phase === 'Degraded' || previous?.phase === 'Failed';
}

function isRolling(status: DeploymentStatus | undefined): boolean {
  return status?.conditions.some(({ reason, status: holds }) => reason === ROLLING_OUT && holds === 'True') ?? false;
}
