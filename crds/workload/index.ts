/**
 * What deployments and jobs have in common: the fields that say what runs, with what, and where.
 *
 * `fields.ts` declares each shared field once: schema, rules, completion. Rules that look at two fields stand in a list
 * of their own, with the other field in `with`, so that they are asked when either changes.
 *
 * The order of all fields of a kind, its own fields and admission itself are for the folders of the kinds.
 *
 * @module
 */
export type {
  ContainerDefaults,
  KnownDeployment,
  KnownImage,
  KnownNode,
  WorkloadContext,
  WorkloadFacts,
  WorkloadLimits,
} from './context.js';
export { emptyFacts } from './context.js';
export type { ResourceRequests } from './container.js';
export { isContainerUser, isNumericUser, warnImage, WORDS_MAX, wordSchema } from './container.js';
export { isCredential } from './credential.js';
export { areSameMounts, GENERATE_KEPT } from './complete.js';
export type { WorkloadCompletion } from './fields.js';
export { workloadFields } from './fields.js';
export { labelsRules, residencyLabelRules } from './labels.js';
export type { LabelConstraint, PlacementSpec } from './placement.js';
export { warnResidency } from './placement.js';
export type { SecretReference } from './secrets.js';
export { warnDroppedSecrets } from './secrets.js';
export { rejectOversized, WORKLOAD_BYTES_MAX } from './size.js';
export type { VolumeMount } from './volumes.js';
