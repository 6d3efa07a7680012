import type { Refusal } from '../../crds/scheduling/index.js';
import type { Candidate, Workload } from './candidate.js';

/**
 * Says whether a node may host a workload, and if not, why not.
 *
 * A filter is a pure function of its arguments. It holds no state between calls, reads no store and
 * never throws: a question it cannot answer is a refusal, so that placement fails closed.
 */
export type Filter = (node: Candidate, workload: Workload) => Refusal | undefined;
