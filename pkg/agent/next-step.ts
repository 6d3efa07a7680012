import { LinkRefusedFault, LinkUnreachableFault } from '../link/index.js';
import type { DesiredState } from './assignments.js';
import {
  type ContainerStatus,
  EngineRefusedFault,
  EngineUnreachableFault,
  ImageMissingFault,
  ImagePullFault,
  NameConflictFault,
} from './engine/index.js';
import { MissingTicketFault } from './secret-fetcher.js';

/** All that the next step of one replica depends on. */
export interface NextStepInput {
  readonly wanted: DesiredState;
  /** The container as it was last seen; undefined when it is known that there is none. */
  readonly container: ContainerStatus | undefined;
  /** The engine has said that it does not hold the image. */
  readonly imageMissing: boolean;
  /** How long a container that ended must still rest before it is started again. */
  readonly backoffMs: number;
}

/** The one thing to do next. `settled` and `leave` end the work until something changes. */
export type ReplicaStep =
  | {
      readonly kind:
        | 'pull'
        | 'create'
        | 'start'
        | 'restart'
        | 'stop'
        | 'remove'
        | 'gone'
        | 'settled'
        | 'refuse'
        | 'leave';
    }
  | { readonly kind: 'rest'; readonly ms: number };

/**
 * Decides the next step that brings one replica's container into line.
 *
 * A pure function of what is known, so that it may be asked again after any step, any failure and any restart.
 */
export function decideNextStep({ wanted, container, imageMissing, backoffMs }: NextStepInput): ReplicaStep {
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
      if (!container) return { kind: imageMissing ? 'pull' : 'create' };
      if (container.state === 'created') return { kind: 'start' };
      if (container.state === 'running') return { kind: 'settled' };
      return backoffMs > 0 ? { kind: 'rest', ms: backoffMs } : { kind: 'restart' };
  }
}

const LONGEST_MESSAGE = 300;

/** The answers that say that the secrets of a container cannot be had now. */
const SECRETS: ReadonlySet<string> = new Set(['secrets_unresolved', 'secret_store_unavailable']);
const SECRETS_MESSAGE = 'its secrets cannot be had now';

/** A failed step, as a report tells it. */
export interface StepFailure {
  readonly reason: string;
  readonly message: string;
}

/**
 * What to report about a step that failed. Undefined when the engine could not be asked, because then nothing is known,
 * and when the control plane could not be asked for secrets, or wants to be asked with another ticket: that is between
 * the two.
 */
export function toStepFailure(step: ReplicaStep['kind'], error: Error): StepFailure | undefined {
  if (error instanceof EngineUnreachableFault || error instanceof LinkUnreachableFault) return undefined;
  if (error instanceof MissingTicketFault) return undefined;
  if (error instanceof LinkRefusedFault) {
    return SECRETS.has(error.code) ? { reason: error.code, message: SECRETS_MESSAGE } : undefined;
  }
  return { reason: reasonOf(step, error), message: error.message.slice(0, LONGEST_MESSAGE) };
}

function reasonOf(step: ReplicaStep['kind'], error: Error): string {
  if (error instanceof ImagePullFault || error instanceof ImageMissingFault) return 'image_pull_failed';
  if (error instanceof NameConflictFault) return 'name_conflict';
  return error instanceof EngineRefusedFault ? `${step}_failed` : 'agent_failed';
}
