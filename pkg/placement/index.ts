/**
 * Placement: which nodes of a tenant may take a replica, which is best, and why the others may not.
 *
 * Every node is checked by every filter and every reason is kept; the one-line summary is derived from the reasons.
 *
 *     const { nodes, unplaced, refused } = new NodeFleet(candidates).place(3, workload);
 *     const { nodes: table } = explainNodes(workload, candidates);
 *
 * A `NodeFleet` may be kept and updated node by node, so that a placement costs what has changed. `explainNodes` works for
 * any workload, placed or not; `summariseRejections` is for a status message.
 *
 * It reads and writes no store: callers bring the nodes with their load (`pkg/fleet`) and commit the result.
 *
 * @module
 */
export type {
  Amounts,
  AntiAffinityTerm,
  Candidate,
  NetworkPlace,
  VolumePlace,
  QuotaUse,
  ReplicaCount,
  ResidencyRule,
  Workload,
} from './model.js';
export { findDomain, resourceKinds, withReplicas } from './model.js';
export type { Explanation, OwnReplicas } from './explain.js';
export { explainNodes } from './explain.js';
export {
  filters,
  isRejectedOtherwise,
  isResidencyUnmet,
  listRejections,
  satisfiesResidency,
  summariseRejections,
  toResidencyRule,
} from './filters.js';
export type { FleetTotals, PlacementResult } from './fleet.js';
export { NodeFleet } from './fleet.js';
