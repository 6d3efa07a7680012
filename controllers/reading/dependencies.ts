import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { Cache } from '../../pkg/store/index.js';
import { type DeploymentReading, readDeployment } from './deployment-reading.js';
import { isServing } from './seen-replica.js';

/** A dependency that does not hold, and why. */
export interface UnmetDependency {
  readonly name: string;
  readonly condition: 'healthy' | 'started';
  /** For people: `is not there yet`. */
  readonly because: string;
}

/** The dependencies of a deployment that do not hold now. */
export function unmetDependencies(
  { metadata, dependsOn = [] }: StoredDeployment,
  cache: Cache,
): readonly UnmetDependency[] {
  return dependsOn.flatMap(({ name, condition }) => {
    const because = whyNot(condition, readDeployment({ tenant: metadata.tenant, name }, cache));
    return because === undefined ? [] : [{ name, condition, because }];
  });
}

/**
 * Healthy is what has a health check that passes in every replica: a container that merely runs proves nothing. Started
 * is what has a container that runs.
 */
function whyNot(condition: UnmetDependency['condition'], { deployment, replicas }: DeploymentReading) {
  if (!deployment || deployment.metadata.deletedAt) return 'is not there';
  if (deployment.replicas === 0) return 'is stopped';
  const own = replicas.filter(
    ({ replica }) => replica.deploymentUid === deployment.metadata.uid && !replica.retiringSince,
  );
  if (condition === 'started') {
    return own.some(({ report, node }) => node === 'well' && report?.state === 'running')
      ? undefined
      : 'has not started';
  }
  const healthy = own.filter(seen => isServing(seen) && seen.report?.health === 'healthy').length;
  return healthy >= deployment.replicas ? undefined : `is not healthy: ${healthy} of ${deployment.replicas} replicas`;
}
