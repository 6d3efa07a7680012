/**
 * Placement: which node of a tenant may take a replica, which is best, and why the others may not.
 *
 * Every node is put to every filter and every reason is kept; the one-line summary is derived from the reasons and
 * is never the record.
 *
 *     const { nodes, unplaced, refused } = new NodeFleet(candidates).place(3, workload);
 *     const { nodes: table } = explainNodes(workload, candidates, filters);
 *
 * A `NodeFleet` may be kept and told of changes, so that a placement costs what has changed. `explainNodes` answers for
 * any workload, placed or not; `summariseRejections` is for a status message.
 *
 * It reads no store: whoever asks brings the nodes with what is on them already, and whoever decides writes it down.
 *
 * @module
 */
export type { Amounts, AntiAffinityTerm, Candidate, QuotaUse, ReplicaCount, ResidencyRule, Workload } from './model.js';
export type { ExplainedNode, Explanation, FilterVerdict } from './explain.js';
export { explainNodes } from './explain.js';
export type { Filter } from './feasibility.js';
export { isResidencyUnmet, listRejections, summariseRejections } from './feasibility.js';
export { filters, satisfiesResidency } from './filters.js';
export type { FleetTotals, PlacementResult } from './fleet.js';
export { NodeFleet } from './fleet.js';
export type { NodeScores } from './rank.js';
export { TopologyCounts } from './topology.js';
