/**
 * A replica: one wanted container.
 *
 * It lives at `replicas/<tenant>/<deployment>/<slot>`. A slot holds at most one replica, so there are never two
 * containers of one slot: a changed deployment retires the replica of a slot, waits until its container is
 * gone, and only then puts a new replica (with a new uid) into the slot.
 *
 * An attempt of a job is a replica too: its owner is `job.<name>`, its slot is the number of the attempt.
 *
 * @module
 */
import {
  type Deployment,
  type HealthCheck,
  type Port,
  type ResourceRequests,
  templateFields,
} from '../deployment/index.js';
import { hashSpec } from '../meta/index.js';
import type { VolumeMount } from '../workload/index.js';

export { formatJobOwner, parseJobOwner, toJobWorkload, toStoredWorkload } from './owner.js';

/** Everything a container is made from. Two replicas with equal templates are interchangeable. */
export interface ContainerTemplate {
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthCheck?: HealthCheck;
  readonly ports?: readonly Port[];
  /** Names of the networks to join; absent or empty: the tenant's own. */
  readonly networks?: readonly string[];
  readonly volumes?: readonly VolumeMount[];
  readonly resources?: ResourceRequests;
  readonly user?: string;
  readonly readOnlyRootFilesystem?: boolean;
  readonly stopGracePeriod?: string;
  readonly preStop?: readonly string[];
  /** Only distinguishes containers of one restart from those of another. */
  readonly restartedAt?: string;
  /** References only: what they stand for is looked up when the container is made. */
  readonly secrets?: readonly DeliveredReference[];
  /** Variables made from secrets, as templates. */
  readonly composedSecrets?: Readonly<Record<string, string>>;
  readonly secretsVersion: number;
}

/** As much of a reference to a credential as a container depends on. */
export interface DeliveredReference {
  /** What the names of its variables begin with. */
  readonly name: string;
  /** `<namespace>/<label>`. */
  readonly vault_path: string;
}

/** That everything a replica refers to was found, and in which versions: numbers, never values. */
export interface ResolvedSecrets {
  /** By vault path. */
  readonly versions: Readonly<Record<string, number>>;
  readonly at: string;
}

/** `replicas/<tenant>/<deployment>/<slot>`. */
export interface Replica {
  readonly uid: string;
  readonly tenant: string;
  readonly deployment: string;
  readonly deploymentUid: string;
  readonly slot: number;
  /** The generation of the deployment that this replica was made for. */
  readonly generation: number;
  /** Hash of the template and of what else forces a new container. */
  readonly templateHash: string;
  readonly template: ContainerTemplate;
  /** The id of the node that the deployment named with this template. */
  readonly namedNode?: string;
  /** Written once, by the scheduler. */
  readonly nodeId?: string;
  /** When that was: present with the node. */
  readonly placedAt?: string;
  /** Written by the secret resolver: the container is to be made from exactly these versions. */
  readonly resolved?: ResolvedSecrets;
  readonly createdAt: string;
  /** That of its deployment or job when it was made. */
  readonly traceparent?: string;
  /** Set by the replica keeper: the container is to be stopped and removed. Never unset. */
  readonly retiringSince?: string;
  /** Set for an attempt of a job: its container is started at most once, and its end is what is asked for. */
  readonly once?: RunOnce;
}

/** How an attempt of a job runs. */
export interface RunOnce {
  /** How long its container may run before it is stopped. */
  readonly timeoutSeconds?: number;
}

/** Whether the replica may have a container: all that it refers to has been found, or it refers to nothing. */
export function isResolved({ template, resolved }: Replica): boolean {
  return resolved !== undefined || !template.secrets?.length;
}

/** What the containers of a deployment are made from: the fields that the table of fields marks as such. */
export function toContainerTemplate(spec: Deployment): ContainerTemplate {
  const template: Record<string, unknown> = {};
  for (const field of templateFields) if (spec[field] !== undefined) template[field] = spec[field];
  // Only what a container depends on: an anchor may change without a new container.
  if (spec.secrets?.length) template['secrets'] = spec.secrets.map(({ name, vault_path }) => ({ name, vault_path }));
  else delete template['secrets'];
  return template as unknown as ContainerTemplate;
}

/** The same for two specs exactly when a container of one may serve for the other. A named node is part of it. */
export function computeTemplateHash(spec: Deployment): string {
  return hashForm(toContainerTemplate(spec), spec.nodeId);
}

/** The hash of a template and of the node that is named with it. */
export function hashForm(template: ContainerTemplate, namedNode: string | undefined): string {
  return hashSpec({ template, ...(namedNode && { namedNode }) });
}

/** A hash of a spec, kept for as long as the spec: it is compared with each of its replicas, and never changes. */
function keepHash(compute: (spec: Deployment) => string): (spec: Deployment) => string {
  const hashes = new WeakMap<Deployment, string>();
  return spec => {
    const hash = hashes.get(spec) ?? compute(spec);
    hashes.set(spec, hash);
    return hash;
  };
}

const hashWhole = keepHash(computeTemplateHash);
const hashTemplate = keepHash(spec => hashSpec(toContainerTemplate(spec)));

/**
 * Whether the container of a replica may serve for a spec: it is made from the same template, and is on the node that the spec
 * names, if it names one. To name the node where a replica is already, or none any more, replaces nothing.
 */
export function isUpToDate({ templateHash, template, nodeId }: Replica, spec: Deployment): boolean {
  if (templateHash === hashWhole(spec)) return true;
  if (spec.nodeId !== undefined && spec.nodeId !== nodeId) return false;
  return hashSpec(template) === hashTemplate(spec);
}
