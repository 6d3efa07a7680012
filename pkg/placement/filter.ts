import { type Refusal, refusal } from '../../crds/scheduling/index.js';
import type { Candidate } from './candidate.js';
import type { Surroundings } from './surroundings.js';
import type { Workload } from './workload.js';

/** A question about one node and one workload. */
type Asked<Answer> = (node: Candidate, workload: Workload, around: Surroundings) => Answer;

/**
 * One rule of where a workload may go.
 *
 * Both functions are pure: they read no store and never throw. A question that cannot be answered is a refusal, so that
 * placement fails closed.
 */
export interface Filter {
  readonly name: string;
  /** Whether the node may host the workload. Asked far more often than why. */
  readonly accepts: Asked<boolean>;
  /** What is required and what the node reports, of a node that is not accepted. */
  readonly words: Asked<readonly [required: string, reported: string]>;
}

/** Why the filter does not accept a node. Undefined: it does. */
export function refuse({ name, accepts, words }: Filter, ...asked: Parameters<Filter['accepts']>): Refusal | undefined {
  return accepts(...asked) ? undefined : refusal(name, ...words(...asked));
}
