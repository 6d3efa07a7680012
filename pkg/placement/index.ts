/**
 * Placement: which node of a tenant may take a replica, which is best, and why the others may not.
 *
 * Every node is put to every filter and every reason is kept; the one-line summary is derived from the reasons and
 * is never the record.
 *
 * `place` finds nodes for several replicas of one deployment in one pass; `feasibility` answers for one more, live;
 * `summarise` is for a status message.
 *
 * It reads no store and keeps no state: whoever asks brings the candidates with what is on them already, and whoever
 * decides writes it down.
 *
 * @module
 */
export type { Amounts, Candidate, Workload } from './candidate.js';
export { occupied } from './candidate.js';
export type { Feasibility } from './feasibility.js';
export { feasibility, summarise } from './feasibility.js';
export type { Filter } from './filter.js';
export { filters } from './filters/index.js';
export type { Placed } from './place.js';
export { place } from './place.js';
export { best, compareCandidates } from './rank.js';
