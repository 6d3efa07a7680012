import type { Field } from '../rule/index.js';
import type { SecretWrite } from '../secret/index.js';
import { completeMounts, completeSecrets } from './complete.js';
import {
  completeReadOnly,
  completeResources,
  completeUser,
  imageRules,
  imageSchema,
  readOnlyRules,
  readOnlySchema,
  resourcesRules,
  resourcesSchema,
  userRules,
  userSchema,
  wordsSchema,
} from './container.js';
import type { WorkloadContext, WorkloadFacts, WorkloadLimits } from './context.js';
import { environmentRules, environmentSchema, variablesRules } from './environment.js';
import { nameRules, nameSchema } from './labels.js';
import { networkNodeRules, networkPortRules, networksRules, networksSchema } from './networks.js';
import { completePlacement, placementRules, placementSchema } from './placement.js';
import {
  anchorRules,
  composedReferenceRules,
  composedSecretsRules,
  composedSecretsSchema,
  rotatingRules,
} from './secret-relations.js';
import { type SecretsInput, secretsRules, secretsSchema } from './secrets.js';
import { volumesRules, volumesSchema, writerRules } from './volumes.js';

/** What the completion of a workload may look at, and where it puts the secret material that it takes out. */
export interface WorkloadCompletion {
  readonly facts: WorkloadFacts;
  readonly limits: WorkloadLimits;
  /** For the secrets store, and for nothing else. */
  readonly material: SecretWrite[];
}

type WorkloadField = Field<WorkloadContext, WorkloadCompletion>;

/** The fields that deployments and jobs share. */
export const workloadFields = {
  name: { schema: nameSchema, required: true, rules: [nameRules] },
  image: { schema: imageSchema, required: true, rules: [imageRules], partOf: 'template' },
  entrypoint: {
    schema: wordsSchema,
    rules: [{ field: 'entrypoint', present: [] }],
    partOf: 'template',
  },
  command: { schema: wordsSchema, rules: [{ field: 'command', present: [] }], partOf: 'template' },
  environment: {
    schema: environmentSchema,
    rules: [environmentRules, variablesRules],
    partOf: 'template',
  },
  secrets: {
    schema: secretsSchema,
    rules: [secretsRules, rotatingRules, anchorRules],
    complete: (sent: SecretsInput, announce, { facts, limits, material }: WorkloadCompletion) => {
      const completed = completeSecrets(sent, facts, limits.secrets, announce);
      material.push(...completed.material);
      return completed.secrets;
    },
    partOf: 'template',
  },
  composedSecrets: {
    schema: composedSecretsSchema,
    rules: [composedSecretsRules, composedReferenceRules],
    partOf: 'template',
  },
  volumes: {
    schema: volumesSchema,
    rules: [volumesRules, writerRules],
    complete: completeMounts,
    partOf: 'template',
  },
  networks: {
    schema: networksSchema,
    rules: [networksRules, networkNodeRules, networkPortRules],
    partOf: 'template',
  },
  resources: {
    schema: resourcesSchema,
    rules: [resourcesRules],
    complete: completeResources,
    isComputed: true,
    partOf: 'template',
  },
  placement: { schema: placementSchema, rules: [placementRules], complete: completePlacement },
  user: {
    schema: userSchema,
    rules: [userRules],
    complete: completeUser,
    isComputed: true,
    partOf: 'template',
  },
  readOnlyRootFilesystem: {
    schema: readOnlySchema,
    rules: [readOnlyRules],
    complete: completeReadOnly,
    isComputed: true,
    partOf: 'template',
  },
} as const satisfies Readonly<Record<string, WorkloadField>>;
