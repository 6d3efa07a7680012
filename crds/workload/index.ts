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
export { anchorRules } from './anchors.js';
export type { SecretsCompletion } from './complete.js';
export { completeMounts, completeSecrets, GENERATE_KEPT } from './complete.js';
export { composedReferenceRules, composedSecretsRules, composedSecretsSchema } from './composed-secrets.js';
export type {
  KnownDeployment,
  KnownImage,
  KnownNode,
  WorkloadContext,
  WorkloadFacts,
  WorkloadLimits,
} from './context.js';
export { emptyFacts } from './context.js';
export { warnDroppedSecrets } from './dropped-secrets.js';
export { environmentRules, environmentSchema } from './environment.js';
export { imageRules, imageSchema, warnImage } from './image.js';
export { labelsRules, labelsSchema, residencyLabelRules } from './labels.js';
export { nameRules, nameSchema } from './name.js';
export { networksRules, networksSchema } from './networks.js';
export type { AntiAffinity, LabelConstraint, PlacementSpec, PlacementInput } from './placement.js';
export { completePlacement, placementRules, placementSchema } from './placement.js';
export { WORDS_MAX, wordSchema, wordsSchema } from './process.js';
export { warnResidency } from './residency-warnings.js';
export type { ResourceRequests } from './resources.js';
export { resourcesRules, resourcesSchema } from './resources.js';
export { rotatingRules } from './rotating-secrets.js';
export type { SecretReference, SecretsInput } from './secrets.js';
export { secretsRules, secretsSchema } from './secrets.js';
export { variablesRules } from './variables.js';
export type { MountsInput, VolumeMount } from './volumes.js';
export { volumesRules, volumesSchema, writerRules } from './volumes.js';
