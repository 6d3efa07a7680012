import {
  EngineRefusedFault,
  EngineUnreachableFault,
  ImageMissingFault,
  ImagePullFault,
  NameConflictFault,
} from './engine/index.js';
import type { Step } from './next-step.js';

const LONGEST_MESSAGE = 300;

/** A failed step, as a report tells it. */
export interface Failure {
  readonly reason: string;
  readonly message: string;
}

/**
 * What to report about a step that failed. Undefined when the engine could not be asked: then nothing is known, and
 * nothing may be said.
 */
export function failureOf(step: Step['kind'], error: Error): Failure | undefined {
  if (error instanceof EngineUnreachableFault) return undefined;
  return { reason: reasonOf(step, error), message: error.message.slice(0, LONGEST_MESSAGE) };
}

function reasonOf(step: Step['kind'], error: Error): string {
  if (error instanceof ImagePullFault || error instanceof ImageMissingFault) return 'image_pull_failed';
  if (error instanceof NameConflictFault) return 'name_conflict';
  return error instanceof EngineRefusedFault ? `${step}_failed` : 'agent_failed';
}
