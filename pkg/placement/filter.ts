import type { Refusal } from '../../crds/scheduling/index.js';
import type { Candidate } from './candidate.js';
import type { Surroundings } from './surroundings.js';
import type { Workload } from './workload.js';

/** One rule of where a workload may go. */
export interface Filter {
  readonly name: string;
  /**
   * Says why a node may not host a workload. Undefined: it may.
   *
   * A pure function of its arguments: it reads no store and never throws. A question it cannot answer is a refusal, so
   * that placement fails closed.
   */
  readonly refuse: (node: Candidate, workload: Workload, around: Surroundings) => Refusal | undefined;
}
