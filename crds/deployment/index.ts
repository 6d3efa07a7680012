/**
 * The Deployment kind: what a tenant may ask for, and what becomes of it on the way in.
 *
 * Each field has a file with its type, its schema and its rules; `rules.ts` is the order in which a client hears of
 * faults. Admission is a pure function of the document, what is stored, the facts that the API has looked up, and the
 * configured limits. It refuses with everything that is wrong at once, or accepts and announces every difference
 * between what was sent and what is to be stored.
 *
 *     const admission = admitCreate(document, facts, limits);
 *     if (!admission.ok) return admission.rejections;
 *     store(admission.spec);
 *
 * Looking up facts, storing, and the metadata of what is stored are the API's.
 *
 * @module
 */
export type { Admission } from './admit.js';
export { admitCreate, admitUpdate, specOf } from './admit.js';
export type {
  Deployment,
  DeploymentPhase,
  DeploymentStatus,
  Placement,
  StoredDeployment,
} from './deployment.js';
export type { HealthCheck } from './health-check.js';
export type { DeploymentFacts, DeploymentLimits } from './limits.js';
export type { Port } from './ports.js';
export type { ResourceRequests } from './resources.js';
export { deploymentSchema } from './rules.js';
