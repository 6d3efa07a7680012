import { type Static, Type } from 'typebox';

import { parseCpu, parseDuration, parseMemory } from '../grammar/index.js';
import type { Metadata } from '../meta/index.js';
import type { Reason } from '../reasons/index.js';
import { type Admission, annotate, createValidator, recordAlterations, rule, toCheckFailure } from '../rule/index.js';
import type { Deployment, DeploymentLimits, StoredDeployment } from './deployment.js';

/** What a policy without `stabilization` waits before it scales down. */
const STABILIZATION = '5m';
const LONGEST = '1h';
const PERCENT_MAX = 1000;

const count = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  ...annotate({ 'x-expected': 'an integer of 1 or more; a deployment is stopped with its own replicas: 0' }),
});
const percent = Type.Integer({
  minimum: 1,
  maximum: PERCENT_MAX,
  ...annotate({ 'x-expected': `an integer from 1 to ${PERCENT_MAX}: percent of what a replica requests` }),
});

/** `PUT /api/v1/deployments/{name}/scaling`. */
export const scalingSchema = Type.Object(
  {
    minReplicas: count,
    maxReplicas: count,
    targetCpuPercent: Type.Optional(percent),
    targetMemoryPercent: Type.Optional(percent),
    stabilization: Type.Optional(Type.String(annotate({ 'x-rules': true }))),
  },
  { additionalProperties: false },
);

type SentPolicy = Static<typeof scalingSchema>;

/** By what, and within which bounds, load moves the number of replicas of a deployment. */
export interface ScalingPolicy {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Percent of what a replica requests; one of the two is there. */
  readonly targetCpuPercent?: number;
  readonly targetMemoryPercent?: number;
  /** For how long load must have been lower before replicas are taken away. */
  readonly stabilization: string;
}

/** `scaling-policies/<tenant>/<deployment>`. The uid is that of the deployment. */
export interface StoredScalingPolicy extends ScalingPolicy {
  readonly metadata: Metadata;
}

/** What was used of what is requested, in percent, over the replicas that count. */
export interface ScalingFigures {
  readonly cpuPercent?: number;
  readonly memoryPercent?: number;
}

/** `scaling/<tenant>/<deployment>`: what the autoscaler has decided last. */
export interface ScalingRecord extends ScalingFigures {
  /** Of the deployment. */
  readonly uid: string;
  /** The replicas of the spec that the number was decided from: another one there is a new base. */
  readonly base: number;
  /** How many replicas are wanted. */
  readonly replicas: number;
  /** When the number was last moved. */
  readonly scaledAt?: string;
  /** Why the number is what it is: a word, and a sentence. */
  readonly reason: Reason;
  readonly message: string;
  /** When this was written. */
  readonly at: string;
}

/** The resources that a policy may have a target for. */
export const scaledResources = ['cpu', 'memory'] as const;

/** A resource of which a policy has a target. */
export type ScaledResource = (typeof scaledResources)[number];

const TARGETS = { cpu: 'targetCpuPercent', memory: 'targetMemoryPercent' } as const;

/** The target of a policy for a resource, in percent. */
export function getScalingTarget(policy: Partial<ScalingPolicy>, resource: ScaledResource): number | undefined {
  const target = policy[TARGETS[resource]];
  return typeof target === 'number' && target > 0 ? target : undefined;
}

/** What a replica requests of a resource, in thousandths of a core or in bytes. */
export function getRequest({ resources }: Pick<Deployment, 'resources'>, resource: ScaledResource): number | undefined {
  const read = resource === 'cpu' ? parseCpu : parseMemory;
  const quantity: unknown = resources?.[resource];
  return (typeof quantity === 'string' && read(quantity)) || undefined;
}

/** The targets that mean nothing, because the deployment requests nothing of their resource. */
export function listUnmeasurable(
  policy: Partial<ScalingPolicy>,
  deployment: Pick<Deployment, 'resources'>,
): readonly ScaledResource[] {
  return scaledResources.filter(
    resource => getScalingTarget(policy, resource) !== undefined && getRequest(deployment, resource) === undefined,
  );
}

interface ScalingFacts {
  readonly sent: Partial<SentPolicy>;
  readonly deployment: Deployment;
  readonly limits: Pick<DeploymentLimits, 'maxReplicas'>;
}

const minIsNotAboveMax = rule('scaling_range_invalid', (min: number, at, refuse, { sent }: ScalingFacts) =>
  sent.maxReplicas !== undefined && min > sent.maxReplicas ? refuse(at, min, { max: sent.maxReplicas }) : undefined,
);

const maxIsAllowed = rule('replicas_out_of_range', (max: number, at, refuse, { limits }: ScalingFacts) =>
  max > limits.maxReplicas ? refuse(at, max, { max: limits.maxReplicas }) : undefined,
);

const someTarget = rule('scaling_target_required', (_: undefined, at, refuse, { sent }: ScalingFacts) =>
  sent.targetMemoryPercent === undefined ? refuse(at, undefined) : undefined,
);

const isRequested = (resource: ScaledResource) =>
  rule('scaling_request_missing', (target: number, at, refuse, { deployment }: ScalingFacts) =>
    getRequest(deployment, resource) === undefined
      ? refuse(at, target, { deployment: deployment.name, resource })
      : undefined,
  );

const spanIsSound = rule('field_invalid', (span: unknown, at, refuse) => {
  const asked = typeof span === 'string' ? parseDuration(span) : undefined;
  if (asked !== undefined && asked <= parseDuration(LONGEST)!) return undefined;
  return refuse(at, span, { wanted: `a duration from 0s to ${LONGEST}` });
});

const validate = createValidator<ScalingFacts>(scalingSchema, [
  { field: 'minReplicas', present: [minIsNotAboveMax] },
  { field: 'maxReplicas', present: [maxIsAllowed] },
  { field: 'targetCpuPercent', absent: someTarget, present: [isRequested('cpu')] },
  { field: 'targetMemoryPercent', present: [isRequested('memory')] },
  { field: 'stabilization', present: [spanIsSound] },
]);

/** Judges a policy for a deployment. */
export function admitScaling(
  document: unknown,
  deployment: Deployment,
  limits: Pick<DeploymentLimits, 'maxReplicas'>,
): Admission<ScalingPolicy> {
  const refusal = toCheckFailure(validate(document, ({ document: sent }) => ({ sent, deployment, limits })));
  if (refusal) return refusal;
  const sent = document as SentPolicy;
  const { alterations, announce } = recordAlterations();
  if (sent.stabilization === undefined) announce('stabilization', null, STABILIZATION, 'default');
  return { ok: true, spec: { stabilization: STABILIZATION, ...sent }, alterations, warnings: [] };
}

/** The policy of a stored record: what a client may send. */
export function toScalingPolicy(stored: StoredScalingPolicy): ScalingPolicy {
  const { metadata: _, ...policy } = stored;
  return policy;
}

/** For how long load must have been lower before replicas are taken away, in milliseconds. */
export function getStabilization({ stabilization }: Partial<ScalingPolicy>): number {
  const asked = typeof stabilization === 'string' ? parseDuration(stabilization) : undefined;
  return asked ?? parseDuration(STABILIZATION)!;
}

/** A number of replicas within the bounds of a policy. */
export function boundReplicas(replicas: number, { minReplicas, maxReplicas }: ScalingPolicy): number {
  return Math.min(maxReplicas, Math.max(minReplicas, replicas));
}

/** Whether a stored policy is of this deployment and has bounds: a record of another release may hold anything, and scales nothing. */
export function isPolicyOf(
  { metadata: { uid } }: Pick<StoredDeployment, 'metadata'>,
  policy: StoredScalingPolicy | undefined,
): policy is StoredScalingPolicy {
  if (policy?.metadata?.uid !== uid) return false;
  const { minReplicas: min, maxReplicas: max } = policy;
  return Number.isSafeInteger(min) && Number.isSafeInteger(max) && min >= 1 && max >= min;
}

/**
 * How many replicas a deployment is to have: those of its spec, or, with a policy, what the autoscaler has made of them.
 *
 * 0 in the spec stops a deployment whatever its policy says. Another number in the spec than the one that the autoscaler started
 * from counts at once, within the bounds of the policy: the autoscaler goes on from there.
 */
export function getWantedReplicas(
  deployment: Pick<StoredDeployment, 'metadata' | 'replicas'>,
  policy: StoredScalingPolicy | undefined,
  record: ScalingRecord | undefined,
): number {
  const { metadata, replicas } = deployment;
  if (!isPolicyOf(deployment, policy) || replicas === 0) return replicas;
  const isCurrent = record?.uid === metadata.uid && record.base === replicas && Number.isSafeInteger(record.replicas);
  return boundReplicas(isCurrent ? record.replicas : replicas, policy);
}
