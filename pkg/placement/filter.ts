import type { Reason } from '../../crds/reasons/index.js';
import type { Candidate, TopologyCounts, Workload } from './model.js';

/**
 * One rule about which nodes may host a workload.
 *
 * Both functions are pure: they read no store and never throw. What cannot be decided is a rejection, so placement fails
 * closed.
 */
export interface Filter {
  readonly name: Reason;
  /** Whether the node may host the workload. Called far more often than `describe`. */
  accepts(node: Candidate, workload: Workload, counts: TopologyCounts): boolean;
  /** Of a node that is not accepted: what is required, and what the node reports. */
  describe(node: Candidate, workload: Workload, counts: TopologyCounts): readonly [required: string, reported: string];
}
