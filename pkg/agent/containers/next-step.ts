import type { Reason } from '../../../crds/reasons/index.js';
import { Fault } from '../../fault/index.js';
import { LinkRefusedFault, LinkUnreachableFault } from '../../link/index.js';
import type { DesiredState } from '../assignments.js';
import {
  type ContainerStatus,
  EngineRefusedFault,
  EngineUnreachableFault,
  ImageMissingFault,
  ImagePullFault,
  NameConflictFault,
  type PullFailure,
} from '../engine/index.js';
import { HostPortReservedFault } from './host-ports.js';
import { NetworkMissingFault } from './networks.js';
import { VolumeHeldFault, VolumeMissingFault } from '../node-volumes/node-volumes.js';
import { VolumeBusyFault } from '../node-volumes/volume-writers.js';
import { VolumeFault } from '../volumes/index.js';
import { normaliseMessage } from '../normalise-message.js';
import { StateFolderFault } from '../state-folder.js';

/** Everything that the next step of one replica depends on. */
export interface NextStepInput {
  readonly wanted: DesiredState;
  /** The container as last observed; undefined when there certainly is none. */
  readonly container: ContainerStatus | undefined;
  /** The engine reported that the image is not present. */
  readonly imageMissing: boolean;
  /** How long the slot must still wait before its next start. */
  readonly backoffMs: number;
  /** Another container of the same slot is still on this node. */
  readonly isSlotTaken?: boolean;
  /** The container has written more to its disk than the machine allows. */
  readonly isOverDisk?: boolean;
  /** Set for an attempt of a job. */
  readonly attempt?: AttemptFacts | undefined;
}

/** What the next step of an attempt depends on, beside what that of any replica does. */
export interface AttemptFacts {
  /** The engine was asked, or was about to be asked, to start its container. */
  readonly wasStarted: boolean;
  /** It has failed, whatever becomes of its container: that is not started any more, or is to be stopped. */
  readonly hasFailed: boolean;
  /** How long the engine still has to show whether it has started the container. */
  readonly confirmMs: number;
  /** How long its container may still run. */
  readonly leftMs: number;
}

/** The next action. `settled`, `leave` and `refuse` end the work until something changes. */
export type ReplicaStep = { readonly kind: PlainStep } | { readonly kind: 'backoff'; readonly ms: number };

type PlainStep =
  | 'pull'
  | 'create'
  | 'start'
  | 'restart'
  | 'stop'
  | 'interrupt'
  | 'remove'
  | 'discard'
  | 'gone'
  | 'settled'
  | 'refuse'
  | 'leave'
  | 'wait'
  | 'confirm'
  | 'abandon';

/**
 * Decides the next step that brings one replica's container to its desired state.
 *
 * A pure function of the current knowledge, so it may be called again after any step, failure or restart.
 */
export function decideNextStep(input: NextStepInput): ReplicaStep {
  const { wanted, container, imageMissing, backoffMs, isSlotTaken = false, isOverDisk = false } = input;
  switch (wanted) {
    case 'unknown':
      return { kind: 'leave' };
    case 'outdated':
      return { kind: 'refuse' };
    case 'retire':
    case 'nothing':
      if (!container) return { kind: 'gone' };
      return { kind: container.state === 'running' ? 'stop' : 'remove' };
    case 'run':
      if (input.attempt && (container || input.attempt.wasStarted)) return decideAttemptStep(input, input.attempt);
      if (container && isOverDisk) return { kind: 'discard' };
      if (container?.state === 'running') return { kind: 'settled' };
      if (backoffMs > 0) return { kind: 'backoff', ms: backoffMs };
      if (isSlotTaken) return { kind: 'wait' };
      if (!container) return { kind: imageMissing ? 'pull' : 'create' };
      return { kind: container.state === 'created' ? 'start' : 'restart' };
  }
}

/**
 * The next step of an attempt that has a container or had one. One that has ended stays as it is: its container is what its exit
 * code is read from, until the control plane has stored it. None is started twice, not even when the engine shows one as created
 * that it was asked to start: the request may still be under way.
 */
function decideAttemptStep({ container, backoffMs, isOverDisk }: NextStepInput, facts: AttemptFacts): ReplicaStep {
  const { wasStarted, hasFailed, confirmMs, leftMs } = facts;
  if (container?.state === 'running') {
    return { kind: hasFailed || isOverDisk || leftMs <= 0 ? 'interrupt' : 'settled' };
  }
  if (container?.state !== 'created') return { kind: 'settled' };
  if (hasFailed) return { kind: 'remove' };
  if (wasStarted) return { kind: confirmMs > 0 ? 'confirm' : 'abandon' };
  return backoffMs > 0 ? { kind: 'backoff', ms: backoffMs } : { kind: 'start' };
}

/** Whether the step brings a container up. */
export function isStart(step: ReplicaStep['kind']): boolean {
  return step === 'pull' || step === 'create' || step === 'start' || step === 'restart';
}

/** There is no ticket for the secrets of a replica. A fresh one has been requested. */
export class MissingTicketFault extends Fault {
  readonly retriable = true;
}

/** Rejection codes that mean: the secrets of the replica are not available now. */
const SECRETS = ['secrets_unresolved', 'secret_store_unavailable'] as const satisfies readonly Reason[];
const SECRETS_MESSAGE = 'the control plane cannot deliver the secrets of this replica now; the agent retries';

export interface StepFailure {
  readonly reason: Reason;
  readonly message: string;
}

export const OUTDATED: StepFailure = {
  reason: 'assignment_outdated',
  message:
    'this node already received a newer generation of this slot; if etcd was restored from a backup, run moor admin restore',
};

/**
 * What to report about a failed step. Undefined when the engine or the control plane is unreachable, because then nothing is
 * known, and when the step only needs a fresh ticket.
 */
export function toStepFailure(step: ReplicaStep['kind'], error: Error): StepFailure | undefined {
  if (error instanceof EngineUnreachableFault || error instanceof LinkUnreachableFault) return undefined;
  if (error instanceof MissingTicketFault) return undefined;
  if (error instanceof LinkRefusedFault) {
    const reason = SECRETS.find(code => code === error.code);
    return reason && { reason, message: SECRETS_MESSAGE };
  }
  return { reason: toReason(step, error), message: normaliseMessage(error.message) };
}

/** The reasons for pulls that fail for good until something is changed. */
const PULL_REASONS: Partial<Readonly<Record<PullFailure, Reason>>> = {
  not_listed: 'image_refused',
  address: 'image_refused',
  host: 'image_refused',
  login_required: 'image_login_required',
  credential_refused: 'image_credential_refused',
};

/** The reasons for steps that the engine refuses. */
const REFUSED_STEPS: Partial<Readonly<Record<ReplicaStep['kind'], Reason>>> = {
  pull: 'pull_failed',
  create: 'create_failed',
  start: 'start_failed',
  restart: 'restart_failed',
  stop: 'stop_failed',
  interrupt: 'stop_failed',
  remove: 'remove_failed',
};

function toReason(step: ReplicaStep['kind'], error: Error): Reason {
  if (error instanceof ImagePullFault) return PULL_REASONS[error.failure] ?? 'image_pull_failed';
  if (error instanceof ImageMissingFault) return 'image_pull_failed';
  if (error instanceof NameConflictFault) return 'name_conflict';
  if (error instanceof NetworkMissingFault) return 'network_missing';
  if (error instanceof VolumeBusyFault) return 'volume_busy';
  if (error instanceof VolumeHeldFault) return 'volume_held';
  if (error instanceof VolumeMissingFault || error instanceof VolumeFault) return 'volume_missing';
  if (error instanceof HostPortReservedFault) return 'host_port_reserved';
  if (error instanceof StateFolderFault) return 'state_folder_unwritable';
  return (error instanceof EngineRefusedFault && REFUSED_STEPS[step]) || 'agent_failed';
}
