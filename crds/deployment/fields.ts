import {
  createCompletion,
  createValidator,
  type Field,
  labelsSchema,
  listFieldRules,
  nodeReferenceSchema,
  toFieldSchema,
  type Validator,
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
  kind: { schema: kindSchema, required: true, isSupported: true, rules: [kindRules] },
  name,
  image,
  replicas: { schema: replicasSchema, isSupported: true, rules: [replicasRules], default: 1 },
  entrypoint,
  command,
  ports: { schema: portsSchema, isSupported: true, rules: [portsRules], complete: completePorts, partOf: 'template' },
  nodeId: {
    schema: nodeReferenceSchema,
    isSupported: true,
    rules: [nodeIdRules],
    complete: completeNodeId,
    partOf: 'hash',
  },
  healthCheck: {
    schema: healthCheckSchema,
    isSupported: true,
    rules: [healthCheckRules, waitersRules],
    complete: completeHealthCheck,
    partOf: 'template',
  },
  environment,
  secrets,
  composedSecrets,
  secretsVersion: {
    schema: secretsVersionSchema,
    isSupported: true,
    rules: [secretsVersionRules],
    complete: completeSecretsVersion,
    isComputed: true,
    partOf: 'template',
  },
  volumes,
  networks,
  resources,
  placement,
  dependsOn: { schema: dependsOnSchema, isSupported: true, rules: [dependsOnRules], complete: completeDependencies },
  rollout: { schema: rolloutSchema, isSupported: true, rules: [rolloutRules], complete: completeRollout },
  stopGracePeriod: {
    schema: stopGracePeriodSchema,
    isSupported: true,
    rules: [stopGracePeriodRules],
    partOf: 'template',
  },
  preStop: { schema: preStopSchema, isSupported: true, rules: [preStopRules], partOf: 'template' },
  restartedAt: { schema: restartedAtSchema, isSupported: true, rules: [restartedAtRules], partOf: 'template' },
  user,
  readOnlyRootFilesystem,
  labels: { schema: labelsSchema, isSupported: true, rules: [labelsRules, residencyLabelRules] },
} as const satisfies Readonly<Record<keyof Deployment, Field<DeploymentContext, DeploymentCompletion>>>;

const table: Readonly<Record<string, Field<DeploymentContext, DeploymentCompletion>>> = deploymentFields;

/** A deployment as a client sends it. */
export const deploymentSchema = toFieldSchema(deploymentFields);

/** Every field that may be left out. */
export const optionalFields: readonly string[] = Object.keys(table).filter(field => !table[field]!.required);

/** The optional fields that this release carries out. The others are judged in a dry run and refused otherwise. */
export const supportedFields: ReadonlySet<string> = new Set(optionalFields.filter(field => table[field]?.isSupported));

/** The fields that containers are made from. */
export const templateFields = (Object.keys(table) as (keyof Deployment)[]).filter(
  field => table[field]!.partOf === 'template',
);

/** Fills in defaults and normalises aliases; every change it makes is announced. */
export const completeDeployment = createCompletion<Deployment, DeploymentCompletion>(table);

const validators = new WeakMap<ReadonlySet<string>, Validator<DeploymentContext>>();
const rules = listFieldRules(table);

/** The validator of a control plane that supports these optional fields and knows no others. */
export function getDeploymentValidator(supported: ReadonlySet<string>): Validator<DeploymentContext> {
  const known = validators.get(supported) ?? createValidator(restrictSchema(supported), rules);
  validators.set(supported, known);
  return known;
}

/** Whether a field is known to a control plane that supports these. */
export function isKnownField(field: string, supported: ReadonlySet<string>): boolean {
  return Object.hasOwn(table, field) && (table[field]!.required === true || supported.has(field));
}

/** Whether a field exists that a control plane that supports these does not carry out. */
export function isUnsupportedField(field: string, supported: ReadonlySet<string>): boolean {
  return Object.hasOwn(table, field) && !isKnownField(field, supported);
}

/** The schema of a deployment with only the supported optional fields. */
export function restrictSchema(supported: ReadonlySet<string>): typeof deploymentSchema {
  const properties = Object.entries(deploymentSchema.properties).filter(([field]) => isKnownField(field, supported));
  return { ...deploymentSchema, properties: Object.fromEntries(properties) } as typeof deploymentSchema;
}
