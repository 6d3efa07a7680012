/**
 * The fleet: reads the nodes of each tenant, and what deployments require of them, from the watch cache for placement.
 *
 * `pkg/placement` decides on plain data. This package builds that data, for the scheduler and for the API that explains
 * the scheduler's decisions, so that both see the same.
 *
 *     const fleets = new TenantFleets(cache);
 *     const fleet = await fleets.read(tenant);
 *     const { nodes } = fleet.place(2, toWorkload(deployment, tenant, { cache, policy }, fleets.readTotals(tenant)));
 *     const explanation = explainDeployment(deployment, tenant, { cache, policy });
 *
 * `defineFleetIndexes` must be called before the cache is fed. Nothing is written here.
 *
 * @module
 */
export {
  defineFleetIndexes,
  findNode,
  listReplicasOn,
  NODES_BY_ID,
  REPLICAS_BY_NODE,
  sumRequests,
  toCandidate,
  withReplica,
} from './candidates.js';
export { TenantFleets, TenantUsage } from './fleets.js';
export { explainWaiting, groupByForm, isHoldingOlder } from './forms.js';
export { countUnended, type EndedJob, isJobEnded, listEndedJobs } from './jobs.js';
export { explainNoCopies, findVolumeDriver } from './volume-driver.js';
export { findVolumeRoom, sumVolumesByNode, usesDisk } from './volume-room.js';
export { explainBound, listMountedWith, listRunningJobs, listSeparated, type MountedVolume } from './volume-users.js';
export { findUsage, readScaling, withWantedReplicas } from './scaling.js';
export {
  defaultPolicy,
  type DeploymentExplanation,
  explainDeployment,
  isQuotaReached,
  type PlacementPolicy,
  type PlacementSources,
  previewPlacement,
  toPlacementPolicy,
  toWorkload,
} from './workload.js';
