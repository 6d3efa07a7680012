/**
 * The Deployment kind: what a tenant may ask for, and what becomes of it on the way in.
 *
 * Each field is declared once, in the table of `fields.ts` or of `crds/workload/fields.ts`: its schema, its rules, how
 * it is completed, and whether it is part of the container template. Admission is a
 * pure function of the document, what is stored, the facts that the API has looked up, and the configured limits. It
 * refuses with everything that is wrong at once, or accepts and announces every difference between what was sent and
 * what is to be stored.
 *
 *     const admission = admitCreate(document, facts, limits);
 *     if (!admission.ok) return admission.rejections;
 *     writeSecrets(admission.material);
 *     store(admission.spec);
 *
 * Looking up facts, writing secrets, storing, and the metadata of what is stored are the API's.
 *
 * @module
 */
export { formatChanges, summariseChanges } from './changes.js';
export { getStatedReplicas } from './stated-replicas.js';
export {
  createInitialStatus,
  type DeploymentStep,
  listSteps,
  listWaitingSteps,
} from './steps.js';
export type {
  ContainerDefaults,
  KnownDeployment,
  KnownImage,
  KnownNode,
  LabelConstraint,
  ResourceRequests,
} from '../workload/index.js';
export { emptyFacts, isContainerUser, isNumericUser } from '../workload/index.js';
export type { DeploymentAdmission } from './admit.js';
export { admitCreate, admitUpdate, toReplacement, toSpec } from './admit.js';
export type {
  CanaryOutcome,
  CanarySide,
  CanaryStatus,
  Deployment,
  DeploymentFacts,
  DeploymentLimits,
  DeploymentPhase,
  AnnouncedEvent,
  DeploymentStatus,
  HealthCheck,
  Port,
  ReplicaStatus,
  RolloutFailure,
  RolloutStatus,
  ScalingStatus,
  StoredDeployment,
} from './deployment.js';
export { deploymentFields, deploymentSchema, templateFields } from './fields.js';
export { getStopGrace } from './stopping.js';
export { deploymentKind } from './kind.js';
export {
  type CanaryAction,
  checkCanaryRequest,
  getCanaryHold,
  getCanarySize,
  getProgressDeadline,
  getRolloutBounds,
  isExclusive,
  isMovable,
  type RolloutBounds,
} from './rollout.js';
export type {
  ScaledResource,
  ScalingFigures,
  ScalingPolicy,
  ScalingRecord,
  StoredScalingPolicy,
} from './scaling.js';
export {
  admitScaling,
  boundReplicas,
  getRequest,
  getScalingTarget,
  getStabilization,
  getWantedReplicas,
  isPolicyOf,
  listUnmeasurable,
  scaledResources,
  scalingSchema,
  toScalingPolicy,
} from './scaling.js';
export { assessReadiness, type DeploymentView } from './view.js';
