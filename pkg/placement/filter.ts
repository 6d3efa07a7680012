import type { Candidate, Workload } from './candidate.js';

/** Why one node may not host one workload, as data and in words an operator can act on. */
export interface Refusal {
  readonly filter: string;
  readonly required: string;
  readonly reported: string;
  readonly message: string;
}

/**
 * Says whether a node may host a workload, and if not, why not.
 *
 * A filter is a pure function of its arguments. It holds no state between calls, reads no store and
 * never throws: a question it cannot answer is a refusal, so that placement fails closed.
 */
export type Filter = (node: Candidate, workload: Workload) => Refusal | undefined;
