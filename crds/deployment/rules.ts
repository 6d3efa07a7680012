import { Type } from 'typebox';

import { examination, type FieldRules } from '../rule/index.js';
import { environmentRules, environmentSchema } from './environment.js';
import { healthCheckRules, healthCheckSchema } from './health-check.js';
import { imageRules, imageSchema } from './image.js';
import { kindRules, kindSchema } from './kind.js';
import { labelsRules, labelsSchema } from './labels.js';
import type { Context } from './limits.js';
import { nameRules, nameSchema } from './name.js';
import { nodeIdRules, nodeIdSchema } from './node-id.js';
import { portsRules, portsSchema } from './ports.js';
import { wordsSchema } from './process.js';
import { replicasRules, replicasSchema } from './replicas.js';
import { resourcesRules, resourcesSchema } from './resources.js';
import { secretsVersionRules, secretsVersionSchema } from './secrets-version.js';

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
    secretsVersion: Type.Optional(secretsVersionSchema),
    resources: Type.Optional(resourcesSchema),
    labels: Type.Optional(labelsSchema),
  },
  { additionalProperties: false },
);

/** The order in which a client hears of faults; the order of the specification's section 2.2, ours beside their kin. */
const fields: readonly FieldRules<Context>[] = [
  kindRules,
  nameRules,
  imageRules,
  replicasRules,
  { field: 'entrypoint', present: [] },
  { field: 'command', present: [] },
  portsRules,
  nodeIdRules,
  healthCheckRules,
  environmentRules,
  secretsVersionRules,
  resourcesRules,
  labelsRules,
];

export const examineDeployment = examination(deploymentSchema, fields);
