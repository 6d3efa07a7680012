/**
 * Placement: which node of a tenant may take a replica, which is best, and why the others may not.
 *
 * Every node is put to every filter and every reason is kept; the one-line summary is derived from the reasons and
 * is never the record.
 *
 *     const { nodes, unplaced, refused } = new Fleet(candidates).place(3, workload);
 *     const { nodes: table } = explainPlacement(workload, candidates, filters);
 *
 * A `Fleet` may be kept and told of changes, so that a placement costs what has changed. `explainPlacement` answers for
 * any workload, placed or not; `summarise` is for a status message.
 *
 * It reads no store: whoever asks brings the nodes with what is on them already, and whoever decides writes it down.
 *
 * @module
 */
export type { Amounts, Candidate, Residents } from './candidate.js';
export type { ExplainedNode, Explanation, FilterVerdict } from './explain.js';
export { explainPlacement } from './explain.js';
export { refusalsOf, residencyMatchesNothing, summarise } from './feasibility.js';
export type { Filter } from './filter.js';
export { filters } from './filters/index.js';
export type { ResidencyRule } from './filters/residency.js';
export { keepsResidency } from './filters/residency.js';
export type { Placed, Totals } from './fleet.js';
export { Fleet } from './fleet.js';
export type { Scores } from './rank.js';
export { Surroundings } from './surroundings.js';
export type { Apart, QuotaUse, Workload } from './workload.js';
