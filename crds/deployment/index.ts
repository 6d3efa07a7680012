/**
 * The Deployment kind.
 *
 * @module
 */
export type {
  Deployment,
  DeploymentPhase,
  DeploymentStatus,
  HealthCheck,
  Placement,
  Port,
  ResourceRequests,
  StoredDeployment,
} from './deployment.js';
