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
export {
  AVOIDERS,
  defineFleetIndexes,
  listReplicasOn,
  NODES_BY_ID,
  REPLICAS_BY_NODE,
  sumRequests,
  toCandidate,
} from './candidates.js';
export type { PlacementSources, PlacementPolicy } from './workload.js';
export {
  defaultPolicy,
  explainDeployment,
  previewPlacement,
  toPlacementPolicy,
  toResidencyRule,
  toWorkload,
} from './workload.js';
export { TenantFleets } from './fleets.js';
export type { QuotaCounts } from './usage.js';
export { TenantUsage } from './usage.js';
