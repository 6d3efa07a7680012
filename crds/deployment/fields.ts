import {
  createCompletion,
  createValidator,
  type Field,
  labelsSchema,
  listFieldRules,
  nodeReferenceSchema,
  toFieldSchema,
} from '../rule/index.js';
import { labelsRules, residencyLabelRules, type WorkloadCompletion, workloadFields } from '../workload/index.js';
import { completeDependencies, dependsOnRules, dependsOnSchema } from './depends-on.js';
import type { Deployment, DeploymentContext } from './deployment.js';
import { completeHealthCheck, healthCheckRules, healthCheckSchema, waitersRules } from './health-check.js';
import { completeRollout, rolloutRules, rolloutSchema } from './rollout.js';
import {
  preStopRules,
  preStopSchema,
  restartedAtRules,
  restartedAtSchema,
  stopGracePeriodRules,
  stopGracePeriodSchema,
} from './stopping.js';
import {
  completeNodeId,
  completePorts,
  completeSecretsVersion,
  kindRules,
  kindSchema,
  nodeIdRules,
  portsRules,
  portsSchema,
  replicasRules,
  replicasSchema,
  secretsVersionRules,
  secretsVersionSchema,
} from './simple-fields.js';

/** What the completion of a deployment may look at. */
export interface DeploymentCompletion extends WorkloadCompletion {
  /** The version that is stored, 0 for a new deployment: only a rotation raises it. */
  readonly secretsVersion: number;
}

const { name, image, entrypoint, command, environment, secrets, composedSecrets, volumes, networks } = workloadFields;
const { resources, placement, user, readOnlyRootFilesystem } = workloadFields;

/**
 * Every field of a deployment, in the order in which rejections are listed: the order of section 2.2 of the
 * specification, with our own fields beside the ones they belong to. The compiler holds it to `Deployment`.
 */
export const deploymentFields = {
  kind: { schema: kindSchema, required: true, rules: [kindRules] },
  name,
  image,
  replicas: { schema: replicasSchema, rules: [replicasRules], default: 1 },
  entrypoint,
  command,
  ports: { schema: portsSchema, rules: [portsRules], complete: completePorts, partOf: 'template' },
  nodeId: {
    schema: nodeReferenceSchema,
    rules: [nodeIdRules],
    complete: completeNodeId,
    partOf: 'hash',
  },
  healthCheck: {
    schema: healthCheckSchema,
    rules: [healthCheckRules, waitersRules],
    complete: completeHealthCheck,
    partOf: 'template',
  },
  environment,
  secrets,
  composedSecrets,
  secretsVersion: {
    schema: secretsVersionSchema,
    rules: [secretsVersionRules],
    complete: completeSecretsVersion,
    isComputed: true,
    partOf: 'template',
  },
  volumes,
  networks,
  resources,
  placement,
  dependsOn: { schema: dependsOnSchema, rules: [dependsOnRules], complete: completeDependencies },
  rollout: { schema: rolloutSchema, rules: [rolloutRules], complete: completeRollout },
  stopGracePeriod: {
    schema: stopGracePeriodSchema,
    rules: [stopGracePeriodRules],
    partOf: 'template',
  },
  preStop: { schema: preStopSchema, rules: [preStopRules], partOf: 'template' },
  restartedAt: { schema: restartedAtSchema, rules: [restartedAtRules], partOf: 'template' },
  user,
  readOnlyRootFilesystem,
  labels: { schema: labelsSchema, rules: [labelsRules, residencyLabelRules] },
} as const satisfies Readonly<Record<keyof Deployment, Field<DeploymentContext, DeploymentCompletion>>>;

const table: Readonly<Record<string, Field<DeploymentContext, DeploymentCompletion>>> = deploymentFields;

/** A deployment as a client sends it. */
export const deploymentSchema = toFieldSchema(deploymentFields);

/** The fields that containers are made from. */
export const templateFields = (Object.keys(table) as (keyof Deployment)[]).filter(
  field => table[field]!.partOf === 'template',
);

/** Fills in defaults and normalises aliases; every change it makes is announced. */
export const completeDeployment = createCompletion<Deployment, DeploymentCompletion>(table);

/** Judges a whole document. */
export const validateDeployment = createValidator(deploymentSchema, listFieldRules(table));

/** Whether a deployment has a field of that name. */
export function isKnownField(field: string): boolean {
  return Object.hasOwn(table, field);
}
