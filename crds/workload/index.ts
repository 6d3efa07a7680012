/**
 * What deployments and jobs have in common: the fields that say what runs, with what, and where.
 *
 * Each field has a file with its type, its schema and its rules. Rules that look at two fields stand in a list of their
 * own, with the other field in `with`, so that they are asked when either changes.
 *
 * The order of fields, defaults of a kind and admission itself are for the folders of the kinds.
 *
 * @module
 */
export {
  anchorRules,
  composedReferenceRules,
  composedSecretsRules,
  composedSecretsSchema,
  rotatingRules,
} from './secret-relations.js';
export type { SecretsCompletion } from './complete.js';
export { completeMounts, completeSecrets, GENERATE_KEPT } from './complete.js';
export type {
  KnownDeployment,
  KnownImage,
  KnownNode,
  WorkloadContext,
  WorkloadFacts,
  WorkloadLimits,
} from './context.js';
export { emptyFacts } from './context.js';
export type { SecretReference, SecretsInput } from './secrets.js';
export { secretsRules, secretsSchema, warnDroppedSecrets } from './secrets.js';
export { environmentRules, environmentSchema, variablesRules } from './environment.js';
export type { ResourceRequests } from './container.js';
export {
  imageRules,
  imageSchema,
  networksRules,
  networksSchema,
  resourcesRules,
  resourcesSchema,
  warnImage,
  WORDS_MAX,
  wordSchema,
  wordsSchema,
} from './container.js';
export { labelsRules, labelsSchema, nameRules, nameSchema, residencyLabelRules } from './labels.js';
export type { AntiAffinity, LabelConstraint, PlacementInput, PlacementSpec } from './placement.js';
export { completePlacement, placementRules, placementSchema, warnResidency } from './placement.js';
export type { MountsInput, VolumeMount } from './volumes.js';
export { volumesRules, volumesSchema, writerRules } from './volumes.js';
