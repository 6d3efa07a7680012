import { Type } from 'typebox';

import { createValidator, type FieldRules, type Validator } from '../rule/index.js';
import {
  anchorRules,
  composedReferenceRules,
  composedSecretsRules,
  composedSecretsSchema,
  environmentRules,
  environmentSchema,
  imageRules,
  imageSchema,
  labelsRules,
  labelsSchema,
  nameRules,
  nameSchema,
  networksRules,
  networksSchema,
  placementRules,
  placementSchema,
  residencyLabelRules,
  resourcesRules,
  resourcesSchema,
  rotatingRules,
  secretsRules,
  secretsSchema,
  variablesRules,
  volumesRules,
  volumesSchema,
  wordsSchema,
  writerRules,
} from '../workload/index.js';
import { dependsOnRules, dependsOnSchema } from './depends-on.js';
import { healthCheckRules, healthCheckSchema, waitersRules } from './health-check.js';
import type { DeploymentContext } from './deployment.js';
import { rolloutRules, rolloutSchema } from './rollout.js';
import {
  kindRules,
  kindSchema,
  nodeIdRules,
  nodeIdSchema,
  portsRules,
  portsSchema,
  replicasRules,
  replicasSchema,
  secretsVersionRules,
  secretsVersionSchema,
} from './simple-fields.js';

/** A deployment as a client sends it. */
export const deploymentSchema = Type.Object(
  {
    kind: kindSchema,
    name: nameSchema,
    image: imageSchema,
    replicas: Type.Optional(replicasSchema),
    entrypoint: Type.Optional(wordsSchema),
    command: Type.Optional(wordsSchema),
    ports: Type.Optional(portsSchema),
    nodeId: Type.Optional(nodeIdSchema),
    healthCheck: Type.Optional(healthCheckSchema),
    environment: Type.Optional(environmentSchema),
    secrets: Type.Optional(secretsSchema),
    composedSecrets: Type.Optional(composedSecretsSchema),
    secretsVersion: Type.Optional(secretsVersionSchema),
    volumes: Type.Optional(volumesSchema),
    networks: Type.Optional(networksSchema),
    resources: Type.Optional(resourcesSchema),
    placement: Type.Optional(placementSchema),
    dependsOn: Type.Optional(dependsOnSchema),
    rollout: Type.Optional(rolloutSchema),
    labels: Type.Optional(labelsSchema),
  },
  { additionalProperties: false },
);

/** The order in which a client hears of faults; the order of the specification's section 2.2, ours beside their kin. */
const fields: readonly FieldRules<DeploymentContext>[] = [
  kindRules,
  nameRules,
  imageRules,
  replicasRules,
  { field: 'entrypoint', present: [] },
  { field: 'command', present: [] },
  portsRules,
  nodeIdRules,
  healthCheckRules,
  waitersRules,
  environmentRules,
  variablesRules,
  secretsRules,
  rotatingRules,
  anchorRules,
  composedSecretsRules,
  composedReferenceRules,
  secretsVersionRules,
  volumesRules,
  writerRules,
  networksRules,
  resourcesRules,
  placementRules,
  dependsOnRules,
  rolloutRules,
  labelsRules,
  residencyLabelRules,
];

/** Every field that may be left out. */
export const optionalFields: readonly string[] = Object.keys(deploymentSchema.properties).filter(
  field => !['kind', 'name', 'image'].includes(field),
);

/** The fields that this release carries out to the end. The others are judged in a dry run and refused otherwise. */
export const supportedFields: ReadonlySet<string> = new Set([
  'replicas',
  'entrypoint',
  'command',
  'ports',
  'nodeId',
  'healthCheck',
  'environment',
  'secrets',
  'composedSecrets',
  'secretsVersion',
  'resources',
  'placement',
  'dependsOn',
  'labels',
]);

const made = new WeakMap<ReadonlySet<string>, Validator<DeploymentContext>>();

/** The examination by a control plane that honours these fields and knows no others. */
export function getDeploymentValidator(supported: ReadonlySet<string>): Validator<DeploymentContext> {
  const known = made.get(supported) ?? createValidator(restrictSchema(supported), fields);
  made.set(supported, known);
  return known;
}

/** Whether a field is known to a control plane that supports these. */
export function isKnownField(field: string, supported: ReadonlySet<string>): boolean {
  return Object.hasOwn(deploymentSchema.properties, field) && (!optionalFields.includes(field) || supported.has(field));
}

/** The schema of a deployment with only the supported optional fields. */
export function restrictSchema(supported: ReadonlySet<string>): typeof deploymentSchema {
  const properties = Object.entries(deploymentSchema.properties).filter(([field]) => isKnownField(field, supported));
  return { ...deploymentSchema, properties: Object.fromEntries(properties) } as typeof deploymentSchema;
}
