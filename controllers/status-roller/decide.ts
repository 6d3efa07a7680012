import { isDeepStrictEqual } from 'node:util';

import { type DeploymentStatus, isMovable, type StoredDeployment } from '../../crds/deployment/index.js';
import type { EventType } from '../../crds/kinds/index.js';
import type { Condition } from '../../crds/meta/index.js';
import type { Reason } from '../../crds/reasons/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { describeRotation, type OpenRotation } from './rotations.js';
import {
  countUpdated,
  derivePhase,
  describeStalled,
  describeUnmet,
  isComplete,
  isHeld,
  type ReplicaSummary,
  summariseReplicas,
  type SummaryInput,
} from './summary.js';
import { nameNodes, toReplicaStatuses } from './replica-statuses.js';
import { toCanaryStatus } from './canary-status.js';
import { findCompleteRevision, toRolloutStatus } from './rollout-status.js';

/** Everything that a status is derived from. */
export interface StatusInput extends SummaryInput {
  /** Whether residency is enforced. */
  readonly enforced: boolean;
  /** The rotations under way of credentials that it refers to. */
  readonly rotations?: readonly OpenRotation[];
  /** The status that is stored. */
  readonly previous: DeploymentStatus | undefined;
}

/** The status of a deployment. Returns `previous` itself when nothing has changed. */
export function rollStatus({ enforced, rotations = [], previous, ...given }: StatusInput): DeploymentStatus {
  const { deployment, now } = given;
  const { uid, generation } = deployment.metadata;
  const own = previous?.uid === uid ? previous : undefined;
  const replicas = nameNodes(given.replicas, own);
  const input = { ...given, replicas };
  const summary = summariseReplicas(input);
  const status: DeploymentStatus = {
    uid,
    ...derivePhase(deployment, summary),
    // A replica without a node is no container: an unschedulable deployment has none.
    replicas: replicas.filter(({ replica }) => replica.nodeId !== undefined).length,
    readyReplicas: summary.serving,
    updatedReplicas: countUpdated(summary),
    observedGeneration: generation,
    revision: findCompleteRevision(input, summary, own),
    // The oldest version that a container may still have.
    secretsVersion: Math.min(
      deployment.secretsVersion,
      ...replicas.map(({ replica }) => replica.template.secretsVersion),
    ),
    placements: toReplicaStatuses(input),
    rollout: toRolloutStatus(deployment, summary, replicas, input.rollout),
    ...(summary.canary && {
      canary: toCanaryStatus(deployment, replicas, summary.canary, summary),
    }),
    conditions: buildConditions(deployment, summary, {
      previous: own?.conditions ?? [],
      generation,
      now,
      enforced,
      rotations,
    }),
    ...(input.scaling && { scaling: input.scaling }),
    ...(summary.refused && { refusedBy: summary.refused.refusing }),
    // A changed deployment has causes of its own.
    ...(own?.events && own.observedGeneration === generation && { events: own.events }),
  };
  return own && isDeepStrictEqual(own, status) ? own : status;
}

/** A condition without its type, time and generation. */
type ConditionState = Pick<Condition, 'status' | 'reason' | 'message'>;

interface ConditionContext {
  readonly previous: readonly Condition[];
  readonly generation: number;
  readonly now: string;
  /** Whether residency is enforced. */
  readonly enforced: boolean;
  readonly rotations: readonly OpenRotation[];
}

/** Reason of the condition `Progressing` while replicas of an older template are replaced. */
const ROLLING_OUT = 'RollingOut';

/** Reason of the condition `Progressing` while a canary is held. */
const CANARY_HELD = 'CanaryHeld';

/** Reason of the condition `ResidencySatisfied` while a replica is on a node that breaks the residency. */
const VIOLATED = 'Violated';

/**
 * The conditions of a deployment. A condition keeps the time of its last change while its status stays the same. Those about
 * secrets, residency and dependencies exist only where the deployment declares some (of secrets also the template that stays
 * beside a canary), `Rotating` only during a rotation.
 */
function buildConditions(
  { placement, dependsOn = [], secrets = [], rollout }: StoredDeployment,
  summary: ReplicaSummary,
  { previous, generation, now, enforced, rotations }: ConditionContext,
): readonly Condition[] {
  const before = new Map(previous.map(condition => [condition.type, condition]));
  const states: Readonly<Record<string, ConditionState | false | undefined>> = {
    Placed: describePlaced(summary),
    Available: describeAvailable(summary),
    Progressing: describeProgressing(summary, before.get('Progressing'), rollout?.paused === true),
    Stalled: describeStall(summary),
    SecretsResolved: (secrets.length > 0 || summary.unresolved) && describeSecrets(summary),
    ResidencySatisfied: placement?.residency && describeResidency(summary, enforced),
    DependenciesHealthy: dependsOn.length > 0 && describeDependencies(summary),
    Rotating: rotations.length > 0 && describeRotations(rotations),
  };
  return Object.entries(states).flatMap(([type, state]) => {
    if (!state) return [];
    const last = before.get(type);
    const lastTransitionTime = last?.status === state.status ? last.lastTransitionTime : now;
    return [{ type, ...state, lastTransitionTime, observedGeneration: generation }];
  });
}

/** Present only while an image is pulled, or a container created or removed, for longer than that should take. */
function describeStall({ stalled: [first] }: ReplicaSummary): ConditionState | undefined {
  if (!first) return undefined;
  const { replica, report } = first.seen;
  const whileUp = report?.state === 'pulling' ? 'PullingTooLong' : 'CreatingTooLong';
  const reason = replica.retiringSince ? 'StoppingTooLong' : whileUp;
  return { status: 'True', reason, message: describeStalled(first) };
}

function describePlaced({ refused, placed, wanted }: ReplicaSummary): ConditionState {
  if (refused) return { status: 'False', reason: 'Unschedulable', message: refused.summary };
  if (placed === wanted) return { status: 'True', reason: 'AllPlaced', message: 'every replica has a node' };
  return { status: 'False', reason: 'Waiting', message: `${placed} of ${wanted} replicas have a node` };
}

/** Counts serving replicas of any template: a roll-out that goes well never loses availability. */
function describeAvailable({ serving, wanted, needed, failing }: ReplicaSummary): ConditionState {
  const message = `${serving} of ${wanted} replicas ready`;
  if (wanted === 0) return { status: 'True', reason: 'ScaledToZero', message };
  if (serving >= needed) return { status: 'True', reason: 'EnoughReady', message };
  const unobserved = failing.filter(({ seen }) => seen.node === 'unobserved').length;
  if (serving + unobserved >= needed) return { status: 'Unknown', reason: 'ContainersUnobserved', message };
  return { status: 'False', reason: 'TooFewReady', message };
}

function describeProgressing(
  summary: ReplicaSummary,
  before: Condition | undefined,
  isPaused: boolean,
): ConditionState {
  if (isComplete(summary)) {
    return { status: 'False', reason: 'Complete', message: 'every replica is up to date and ready' };
  }
  if (summary.failed) return { status: 'False', reason: 'ProgressDeadlineExceeded', message: summary.failed.message };
  if (isPaused && summary.rolling) return { status: 'Unknown', reason: 'Paused', message: 'the rollout is paused' };
  if (summary.canary) {
    const { revision } = summary.canary;
    const message = `revision ${revision} is on ${countUpdated(summary)} of ${summary.wanted} replicas, as a canary`;
    return { status: 'True', reason: CANARY_HELD, message };
  }
  // The last new replica of a roll-out starts when no old one is left: it still belongs to the roll-out.
  const wasRolling = before?.status === 'True' && isRollingReason(before.reason);
  const reason = summary.rolling || wasRolling ? ROLLING_OUT : 'Adjusting';
  const message = `${countUpdated(summary)} of ${summary.wanted} replicas are up to date`;
  return { status: 'True', reason, message };
}

/** The reason is the one that the secret resolver has stored. Until it has looked the secrets up, the status is Unknown. */
function describeSecrets({ unresolved, unstamped }: ReplicaSummary): ConditionState {
  if (unresolved) return { status: 'False', reason: unresolved.reason, message: unresolved.message };
  if (unstamped > 0) {
    const replicas = unstamped === 1 ? '1 replica' : `${unstamped} replicas`;
    return {
      status: 'Unknown',
      reason: 'ResolutionPending',
      message: `the secrets of ${replicas} were not looked up yet`,
    };
  }
  return { status: 'True', reason: 'AllResolved', message: 'every secret that it refers to was found' };
}

function describeResidency({ misplaced, refused, placed, wanted }: ReplicaSummary, enforced: boolean): ConditionState {
  if (!enforced) {
    const message = 'this control plane does not enforce residency: set residencyEnforcement';
    return { status: 'Unknown', reason: 'EnforcementOff', message };
  }
  if (misplaced.length > 0) {
    const slots = misplaced.map(({ replica }) => replica.slot).join(', ');
    const who = misplaced.length === 1 ? `replica ${slots} is on a node` : `each of replicas ${slots} is on a node`;
    return { status: 'False', reason: VIOLATED, message: `${who} that breaks the residency` };
  }
  if (refused?.residencyUnmet) return { status: 'False', reason: 'NoMatchingNode', message: refused.summary };
  if (placed === 0 && wanted > 0) return { status: 'Unknown', reason: 'Waiting', message: 'no replica has a node yet' };
  const which = placed < wanted ? 'every replica that has a node is on one' : 'every replica is on a node';
  return { status: 'True', reason: 'Satisfied', message: `${which} that satisfies the residency` };
}

function describeDependencies({ unmet }: ReplicaSummary): ConditionState {
  if (unmet.length > 0) return { status: 'False', reason: 'Unmet', message: describeUnmet(unmet) };
  return { status: 'True', reason: 'Met', message: 'every dependency is met' };
}

function describeRotations(rotations: readonly OpenRotation[]): ConditionState {
  const isWaiting = rotations.some(({ waitsFor }) => waitsFor !== undefined);
  const isUnusable = rotations.some(({ fault }) => fault !== undefined);
  const reason = isUnusable ? 'record_unusable' : isWaiting ? 'PhaseIncomplete' : 'NextPhaseNotRequested';
  return { status: 'True', reason, message: rotations.map(describeRotation).join('. ') };
}

/** The types of events of deployments whose last part is a reason, which "moor explain" knows. */
type DeploymentEvent = Extract<EventType, `deployment.${Reason}`>;

/**
 * The events of a change of status: one for a new phase or for another cause of the same one, one for a roll-out that has ended, and one for replicas that
 * break the residency and cannot be moved. The replica keeper writes the event of those that it moves.
 */
export function draftStatusEvents(
  deployment: StoredDeployment,
  previous: DeploymentStatus | undefined,
  status: DeploymentStatus,
  summary: ReplicaSummary,
): readonly EventDraft[] {
  const draft = (type: DeploymentEvent, change: Partial<EventDraft> = {}): EventDraft => ({
    type,
    tenant: deployment.metadata.tenant,
    subject: { kind: 'Deployment', name: deployment.name, id: deployment.metadata.uid },
    reason: type.slice('deployment.'.length) as Reason,
    message: status.message,
    data: { phase: status.phase, from: previous?.phase ?? null, generation: status.observedGeneration },
    ...change,
  });

  const events: EventDraft[] = [];
  const event = derivePhaseEvent(previous, status, summary);
  const phaseEvent = event && draft(...event);
  if (phaseEvent && (previous?.phase !== status.phase || isOtherCause(phaseEvent, status))) events.push(phaseEvent);
  if (isRolling(previous) && !isRolling(status) && status.phase === 'Running') {
    events.push(draft('deployment.rollout_completed'));
  }
  if (isViolated(status) && !isViolated(previous) && !isMovable(deployment)) {
    const { message = '' } = status.conditions.find(({ reason }) => reason === VIOLATED) ?? {};
    events.push(draft('deployment.residency_violated', { severity: 'warning', message }));
  }
  return events;
}

function derivePhaseEvent(
  previous: DeploymentStatus | undefined,
  { phase }: DeploymentStatus,
  summary: ReplicaSummary,
): readonly [type: DeploymentEvent, change?: Partial<EventDraft>] | undefined {
  switch (phase) {
    case 'Running': {
      const wasImpaired = previous?.phase === 'Degraded' || previous?.phase === 'Failed';
      return [wasImpaired ? 'deployment.recovered' : 'deployment.running'];
    }
    case 'Pending':
      // Of a new deployment, its creation says it.
      return previous && ['deployment.progressing', { reason: 'placing' }];
    case 'Progressing':
      return ['deployment.progressing'];
    case 'Stopped':
      return ['deployment.stopped'];
    case 'Waiting':
      return ['deployment.waiting', { reason: isHeld(summary) ? 'dependency' : 'residency' }];
    case 'Degraded': {
      const [failing] = summary.failing;
      const reason = summary.unresolved?.reason ?? failing?.reason;
      return ['deployment.degraded', { severity: 'warning', ...(reason !== undefined && { reason }) }];
    }
    default:
      return undefined;
  }
}

/** Whether a phase that lasts has another cause by now than its last event names. Of a changed deployment none was named yet. */
function isOtherCause({ type, reason }: EventDraft, { events = [] }: DeploymentStatus): boolean {
  if (type !== 'deployment.degraded' && type !== 'deployment.waiting') return false;
  return events.findLast(announced => announced.type === type)?.reason !== reason;
}

function isRolling(status: DeploymentStatus | undefined): boolean {
  return status?.conditions.some(({ reason, status: holds }) => isRollingReason(reason) && holds === 'True') ?? false;
}

function isRollingReason(reason: Reason): boolean {
  return reason === ROLLING_OUT || reason === CANARY_HELD;
}

function isViolated(status: DeploymentStatus | undefined): boolean {
  return status?.conditions.some(({ reason }) => reason === VIOLATED) ?? false;
}
