/**
 * Why a deployment has replicas without a node, at `scheduling/<tenant>/<deployment>`.
 *
 * Written by the scheduler and there only while replicas wait: the status shows its summary, the event that it names
 * carries every reason of every node, grouped by what the nodes have in common, as far as one value of etcd holds it.
 *
 *     const reason = refusal('ready', 'ready', 'failed');
 *     const everyNode = ungrouped(event.data.groups);
 *
 * Who refuses and when is left to `pkg/placement`.
 *
 * @module
 */
export type { Abridged, LeftOut } from './abridged.js';
export { abridged } from './abridged.js';
export type { RefusedGroup } from './groups.js';
export { grouped, ungrouped } from './groups.js';
export type { Refusal, Refused } from './refusal.js';
export { refusal } from './refusal.js';
export type { Scheduling } from './scheduling.js';
