/**
 * The fleet: the nodes of each tenant, and what is asked of them, as placement wants to have it.
 *
 * `pkg/placement` decides on plain data; this is where that data is read from the watch cache, for the scheduler and for
 * whoever explains what the scheduler did, so that both speak of the same thing.
 *
 *     const fleets = new Fleets(cache);
 *     const fleet = await fleets.of(tenant);
 *     const { nodes } = fleet.place(2, workloadOf(deployment, tenant, { cache, policy }, fleets.totalsOf(tenant)));
 *     const explanation = explainDeployment(deployment, tenant, { cache, policy });
 *
 * `defineFleetIndexes` must be called on the cache before it is fed. Nothing is written here.
 *
 * @module
 */
export { candidateOf, replicasOn } from './candidate-of.js';
export { explainDeployment, previewPlacement } from './explain.js';
export { Fleets } from './fleets.js';
export { AVOIDERS, defineFleetIndexes, NODES_BY_ID, REPLICAS_BY_NODE } from './indexes.js';
export { loadOf } from './load.js';
export type { PlacementPolicy } from './policy.js';
export { defaultPolicy, policyOf } from './policy.js';
export type { Used } from './usage.js';
export { Usage } from './usage.js';
export type { PlacementReading } from './workload-of.js';
export { residencyRuleOf, workloadOf } from './workload-of.js';
