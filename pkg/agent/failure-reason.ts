import {
  EngineRefusedFault,
  EngineUnreachableFault,
  ImageMissingFault,
  ImagePullFault,
  NameConflictFault,
} from './engine/index.js';
import { LinkRefusedFault, LinkUnreachableFault } from '../link/index.js';
import { NoTicketFault } from './secret-courier.js';
import type { Step } from './next-step.js';

const LONGEST_MESSAGE = 300;

/** The answers that say that the secrets of a container cannot be had now. */
const SECRETS: ReadonlySet<string> = new Set(['secrets_unresolved', 'secret_store_unavailable']);
const SECRETS_MESSAGE = 'its secrets cannot be had now';

/** A failed step, as a report tells it. */
export interface Failure {
  readonly reason: string;
  readonly message: string;
}

/**
 * What to report about a step that failed. Undefined when the engine could not be asked, because then nothing is known,
 * and when the control plane could not be asked for secrets, or wants to be asked with another ticket: that is between
 * the two.
 */
export function failureOf(step: Step['kind'], error: Error): Failure | undefined {
  if (error instanceof EngineUnreachableFault || error instanceof LinkUnreachableFault) return undefined;
  if (error instanceof NoTicketFault) return undefined;
  if (error instanceof LinkRefusedFault) {
    return SECRETS.has(error.code) ? { reason: error.code, message: SECRETS_MESSAGE } : undefined;
  }
  return { reason: reasonOf(step, error), message: error.message.slice(0, LONGEST_MESSAGE) };
}

function reasonOf(step: Step['kind'], error: Error): string {
  if (error instanceof ImagePullFault || error instanceof ImageMissingFault) return 'image_pull_failed';
  if (error instanceof NameConflictFault) return 'name_conflict';
  return error instanceof EngineRefusedFault ? `${step}_failed` : 'agent_failed';
}
