import type { Deployment, DeploymentStatus } from './deployment.js';

/** How many replicas a deployment is to have, as its status says: what answers are to be measured against. */
export function getStatedReplicas({
  replicas,
  status,
}: Pick<Deployment, 'replicas'> & { readonly status?: Pick<DeploymentStatus, 'scaling'> | null }): number {
  return replicas === 0 ? 0 : (status?.scaling?.replicas ?? replicas);
}
