import { formatCount } from '../grammar/index.js';
import type { Condition } from '../meta/index.js';
import { formatRemedy, type Reason } from '../reasons/index.js';
import { describePull } from '../report/pull.js';
import type { DeploymentStatus, ReplicaStatus, StoredDeployment } from './deployment.js';
import { getStatedReplicas } from './stated-replicas.js';

/** The way of a deployment from its declaration to its last replica; one that is deleted has another end, and `rotated` follows while a credential is rotated. */
export type StepName = 'admitted' | 'placed' | 'secrets' | 'created' | 'healthy' | 'rolled out' | 'rotated' | 'removed';

/** `waiting`: something is to happen here; `pending`: everything that is left waits at an earlier step. */
export type StepState = 'done' | 'waiting' | 'pending' | 'not needed';

/** One step, as far as it is. */
export interface DeploymentStep {
  readonly step: StepName;
  readonly state: StepState;
  /** Since when it is in this state; null when that is not known. */
  readonly since: string | null;
  /** How far it is, or what it waits for. */
  readonly detail: string;
  /** Of a step that waits: one word, which "moor explain" explains. */
  readonly reason?: Reason;
  /** The last error, in the words of the engine or of the program. */
  readonly error?: string;
  /** What to do about it. */
  readonly next?: string;
}

type Status = Omit<DeploymentStatus, 'uid'>;

/** The status of a deployment that no loop has looked at. */
export function createInitialStatus(
  phase: Status['phase'] = 'Pending',
  message = 'accepted; not reconciled yet',
): Status {
  return {
    phase,
    message,
    replicas: 0,
    readyReplicas: 0,
    updatedReplicas: 0,
    observedGeneration: 0,
    revision: 0,
    secretsVersion: 0,
    placements: [],
    conditions: [],
  };
}

/** What every step is derived from. */
interface StepInput {
  readonly deployment: StoredDeployment;
  readonly status: Status;
  /** Replicas that are to stay. */
  readonly staying: readonly ReplicaStatus[];
  readonly conditions: ReadonlyMap<string, Condition>;
}

/**
 * The steps of a deployment, from its spec and its status alone: who shows a status can show the steps of the same
 * moment, and they cannot contradict it.
 */
export function listSteps(stored: StoredDeployment, status: Status): readonly DeploymentStep[] {
  const deployment = { ...stored, replicas: getStatedReplicas({ replicas: stored.replicas, status }) };
  const { metadata } = deployment;
  const input: StepInput = {
    deployment,
    status,
    staying: status.placements.filter(({ state }) => state !== 'stopping' && state !== 'removed'),
    conditions: new Map(status.conditions.map(condition => [condition.type, condition])),
  };
  if (metadata.deletedAt !== undefined) return [describeAdmitted(input), describeRemoved(input)];
  const steps = [
    describeAdmitted,
    describePlacedStep,
    describeSecretsStep,
    describeCreated,
    describeHealthy,
    describeRollout,
  ];
  return [...steps.map(describe => describe(input)), ...listRotation(input)];
}

/** The steps at which something is to happen now. */
export function listWaitingSteps(steps: readonly DeploymentStep[]): readonly DeploymentStep[] {
  return steps.filter(({ state }) => state === 'waiting');
}

function describeAdmitted({ deployment: { metadata, name }, status }: StepInput): DeploymentStep {
  const { generation, updatedAt, deletedAt } = metadata;
  const since = deletedAt ?? updatedAt;
  if (status.observedGeneration >= generation || deletedAt !== undefined) {
    const detail = deletedAt === undefined ? `generation ${generation} is stored` : 'its deletion was requested';
    return { step: 'admitted', state: 'done', since, detail };
  }
  return {
    step: 'admitted',
    state: 'waiting',
    since,
    detail: `generation ${generation} is stored; the controllers have not looked at it yet`,
    next: `Wait a moment; if it stays so, check that the controllers run: "moor logs --controllers status-roller". What follows is of ${name} before the change.`,
  };
}

function describePlacedStep({ deployment: { name, replicas }, status, conditions }: StepInput): DeploymentStep {
  const step = 'placed';
  const {
    status: holds,
    reason = 'Waiting',
    message = 'not looked at yet',
    lastTransitionTime = null,
  } = conditions.get('Placed') ?? {};
  if (replicas === 0) return { step, state: 'not needed', since: null, detail: 'it asks for 0 replicas' };
  if (holds === 'True') return { step, state: 'done', since: lastTransitionTime, detail: message };
  const dependencies = conditions.get('DependenciesHealthy');
  if (status.phase === 'Waiting' && dependencies?.status === 'False' && reason !== 'Unschedulable') {
    const { reason: unmet, message: detail, lastTransitionTime: since } = dependencies;
    return { step, state: 'waiting', since, detail, reason: unmet, ...withNext(unmet, name) };
  }
  const next = reason === 'Unschedulable' ? describeRemedies(status, name) : formatRemedy(reason, name);
  return {
    step,
    state: 'waiting',
    since: lastTransitionTime,
    detail: message,
    reason,
    ...(next !== undefined && { next }),
  };
}

/** What to do about each filter that refuses a node. */
function describeRemedies({ refusedBy }: Status, name: string): string | undefined {
  if (refusedBy === undefined) return formatRemedy('Unschedulable', name);
  if (refusedBy.length === 0) return 'Enrol a node: "moor nodes join-token" mints the token for it.';
  const remedies = refusedBy.flatMap(filter => {
    const remedy = formatRemedy(filter, name);
    return remedy === undefined ? [] : [`${filter === 'ready' ? 'not ready' : filter}: ${remedy}`];
  });
  return remedies.join(' ');
}

function describeSecretsStep({ deployment, conditions, staying }: StepInput): DeploymentStep {
  const step = 'secrets';
  const { name, secrets = [], replicas } = deployment;
  const condition = conditions.get('SecretsResolved');
  if (secrets.length === 0 && !condition) {
    return { step, state: 'not needed', since: null, detail: 'it refers to no secrets' };
  }
  const { status: holds, reason, message = 'not looked up yet', lastTransitionTime = null } = condition ?? {};
  const since = lastTransitionTime;
  if (replicas === 0) return { step, state: 'not needed', since: null, detail: 'it asks for 0 replicas' };
  if (holds === 'False' && reason !== undefined) {
    return { step, state: 'waiting', since, detail: message, reason, ...withNext(reason, name) };
  }
  if (staying.every(({ nodeId }) => nodeId === null)) {
    return { step, state: 'pending', since: null, detail: 'they are looked up when a replica has a node' };
  }
  return {
    step,
    state: holds === 'True' ? 'done' : 'waiting',
    since,
    detail: message,
    ...(holds !== 'True' && { reason: 'ResolutionPending' }),
  };
}

/** Whether the container of a replica exists, or did: also while no agent can see it. */
function hasContainer({ state, containerId }: ReplicaStatus): boolean {
  return state === 'running' || state === 'exited' || (state === 'unknown' && containerId !== null);
}

function describeCreated({ deployment, staying, conditions }: StepInput): DeploymentStep {
  const step = 'created';
  const { replicas, name } = deployment;
  if (replicas === 0) return { step, state: 'not needed', since: null, detail: 'it asks for 0 replicas' };
  const created = staying.filter(hasContainer).length;
  const detail = `${Math.min(created, replicas)} of ${formatCount(replicas, 'container')} created`;
  if (created >= replicas) return { step, state: 'done', since: null, detail };
  const due = staying.filter(replica => replica.nodeId !== null && !hasContainer(replica));
  const lacksSecrets = conditions.get('SecretsResolved')?.status === 'False';
  if (due.length === 0 || (lacksSecrets && due.every(({ state }) => state === 'assigned'))) {
    return { step, state: 'pending', since: null, detail };
  }
  return describeTrouble(step, detail, due, name);
}

function describeHealthy({ deployment, status, staying, conditions }: StepInput): DeploymentStep {
  const step = 'healthy';
  const { replicas, name } = deployment;
  if (replicas === 0) return { step, state: 'not needed', since: null, detail: 'it asks for 0 replicas' };
  const available = conditions.get('Available');
  const detail = `${status.readyReplicas} of ${formatCount(replicas, 'replica')} ready`;
  if (status.readyReplicas >= replicas) {
    return { step, state: 'done', since: available?.lastTransitionTime ?? null, detail };
  }
  const ill = staying.filter(
    replica => hasContainer(replica) && !(replica.state === 'running' && isWell(replica.health)),
  );
  if (ill.length === 0) return { step, state: 'pending', since: null, detail };
  return describeTrouble(step, detail, ill, name);
}

function isWell(health: string): boolean {
  return health === 'none' || health === 'healthy';
}

/** What one of the replicas that hold a step up says: one with a message before one without. */
function describeTrouble(
  step: StepName,
  detail: string,
  replicas: readonly ReplicaStatus[],
  name: string,
): DeploymentStep {
  const worst = replicas.find(({ message }) => message !== undefined) ?? replicas[0]!;
  const { replica, state, health, since = null, reason = toStateReason(worst), message } = worst;
  const standing = state === 'running' ? health : worst.pull ? `${state}: ${describePull(worst.pull)}` : state;
  const others = replicas.length > 1 ? `, and ${formatCount(replicas.length - 1, 'other')}` : '';
  return {
    step,
    state: 'waiting',
    since,
    detail: `${detail}; replica ${replica} is ${standing}${others}`,
    ...(reason !== undefined && { reason, ...withNext(reason, name) }),
    ...(message !== undefined && { error: `replica ${replica}: ${message}` }),
  };
}

/** States that are on their way have no reason. */
function toStateReason({ state, health }: ReplicaStatus): Reason | undefined {
  if (state === 'running') return health === 'unhealthy' ? 'unhealthy' : undefined;
  return state === 'exited' || state === 'failed' || state === 'unknown' ? state : undefined;
}

const HELD_ROLLOUT = { failed: 'ProgressDeadlineExceeded', paused: 'Paused', canary: 'CanaryHeld' } as const;

function describeRollout({ deployment, status, staying, conditions }: StepInput): DeploymentStep {
  const step = 'rolled out';
  const { replicas } = deployment;
  const { lastTransitionTime: since = null } = conditions.get('Progressing') ?? {};
  const isRolling = status.updatedReplicas < staying.filter(({ state }) => state !== 'unplaced').length;
  // While it progresses, one too many is on its way out also before it is marked as leaving.
  const kept = status.phase === 'Progressing' ? Math.min(staying.length, replicas) : staying.length;
  const leaving = status.placements.length - kept;
  const detail = `${status.updatedReplicas} of ${formatCount(replicas, 'replica')} up to date`;
  const { state, waitsFor, failure } = status.rollout ?? {};
  if (state === 'failed' || state === 'paused' || state === 'canary') {
    const reason = HELD_ROLLOUT[state];
    const standing = status.canary ? `the canary waits for ${status.canary.waitsFor}` : state;
    return {
      step,
      state: 'waiting',
      since,
      detail: `${detail}; ${standing}`,
      reason,
      ...(state === 'failed' && failure && { error: failure.message }),
      ...withNext(reason, deployment.name),
    };
  }
  const isOnItsWay = state === 'progressing' && waitsFor !== undefined && isRolling;
  const left = isOnItsWay ? `it waits for ${waitsFor}` : `${formatCount(leaving, 'container')} to be removed`;
  if (isOnItsWay || leaving > 0) {
    return { step, state: 'waiting', since, detail: `${detail}; ${left}`, ...describeStopping(status) };
  }
  const isDone = status.updatedReplicas >= replicas && status.readyReplicas >= replicas;
  if (isDone) return { step, state: 'done', since, detail: replicas === 0 ? 'no container is left' : detail };
  return { step, state: isRolling ? 'waiting' : 'pending', since, detail };
}

/** Only while a credential is being rotated: which phase waits for what. */
function listRotation({ deployment: { name }, conditions }: StepInput): readonly DeploymentStep[] {
  const rotating = conditions.get('Rotating');
  if (rotating?.status !== 'True') return [];
  const { reason, message: detail, lastTransitionTime: since } = rotating;
  return [{ step: 'rotated', state: 'waiting', since, detail, reason, ...withNext(reason, name) }];
}

function describeRemoved({ deployment, status }: StepInput): DeploymentStep {
  const { deletedAt = null } = deployment.metadata;
  return { step: 'removed', state: 'waiting', since: deletedAt, detail: status.message, ...describeStopping(status) };
}

/** What the first replica that is on its way out says, when that takes too long. */
function describeStopping({ placements }: Status): Pick<DeploymentStep, 'reason' | 'error' | 'next'> {
  const stuck = placements.find(({ state, message }) => state === 'stopping' && message !== undefined);
  if (!stuck) return {};
  const { replica, reason, message } = stuck;
  return {
    error: `replica ${replica}: ${message}`,
    ...(reason !== undefined && { reason, ...withNext(reason, '') }),
  };
}

function withNext(reason: Reason, name: string): Pick<DeploymentStep, 'next'> {
  const next = formatRemedy(reason, name);
  return next === undefined ? {} : { next };
}
