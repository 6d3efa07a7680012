import type { Deployment } from '../../crds/deployment/index.js';
import { createTypedId } from '../../crds/grammar/index.js';
import { keys } from '../../crds/keys/index.js';
import { hashText, type Metadata, toCanonicalText } from '../../crds/meta/index.js';
import type { Alteration } from '../../crds/rule/index.js';
import type { Change, Guard } from '../../pkg/store/index.js';
import type { AdmissionEnv } from './env.js';
import { putConflictKeys } from './conflict-keys.js';

/** A deployment to be written, and why. */
export interface DeploymentWrite {
  readonly kind: keyof typeof EVENTS;
  /** The metadata, once the hash of the spec is known. */
  readonly metadata: (specHash: string) => Metadata;
  readonly spec: Deployment;
  readonly alterations: readonly Alteration[];
  /** Public id of the caller's token. */
  readonly by: string;
  /** The request, as the archive names it. */
  readonly operation: string;
  /** What must still hold when it is stored. */
  readonly guards: readonly Guard[];
  /** The conflict keys that it changes. */
  readonly conflictKeys?: readonly string[];
}

/** A change to commit, with the bytes of the deployment in it. */
export interface BuiltWrite {
  readonly change: Change;
  readonly bytes: Buffer;
}

/** Metadata of a new deployment. */
export function createMetadata({ clock, random }: AdmissionEnv, tenant: string, specHash: string): Metadata {
  const now = new Date(clock.now()).toISOString();
  return {
    tenant,
    uid: createTypedId('dep', count => random.bytes(count)),
    generation: 1,
    createdAt: now,
    updatedAt: now,
    specHash,
  };
}

/** Metadata of the next configuration of a deployment. */
export function updateMetadata({ clock }: AdmissionEnv, before: Metadata, specHash: string): Metadata {
  const updatedAt = new Date(clock.now()).toISOString();
  return { ...before, generation: before.generation + 1, updatedAt, specHash };
}

/** The one change that stores a deployment, its archive entry and its event, together or not at all. */
export async function buildWrite(env: AdmissionEnv, write: DeploymentWrite): Promise<BuiltWrite> {
  const { spec } = write;
  const text = toCanonicalText(spec);
  const metadata = write.metadata(hashText(text));
  const key = keys.deployment(metadata.tenant, spec.name);
  const archive = keys.archive(metadata.tenant, metadata.uid, metadata.generation);
  // Metadata first: answers are spliced from these bytes.
  const bytes = Buffer.from(`{"metadata":${JSON.stringify(metadata)},${text.slice(1)}`);
  const event = await env.events.put(toEvent(write, metadata));
  const puts = [
    { key, bytes },
    { key: archive, bytes: toArchiveEntry(write, metadata, text) },
    event,
    ...(await putConflictKeys(env.conflictLeases, write.conflictKeys ?? [], write.operation)),
  ];
  return { change: { guards: write.guards, puts, deletes: [], proof: archive }, bytes };
}

function toArchiveEntry(write: DeploymentWrite, metadata: Metadata, text: string): Buffer {
  const { kind, spec, alterations, by, operation } = write;
  const entry = {
    revision: metadata.generation,
    at: metadata.updatedAt,
    by,
    operation,
    change: kind,
    specHash: metadata.specHash,
    secretsVersion: spec.secretsVersion,
    alterations,
  };
  return Buffer.from(`${JSON.stringify(entry).slice(0, -1)},"spec":${text}}`);
}

const EVENTS = {
  create: { type: 'deployment.created', reason: 'created', done: 'was created' },
  update: { type: 'deployment.updated', reason: 'updated', done: 'was changed' },
  delete: { type: 'deployment.updated', reason: 'deletion_requested', done: 'is being deleted' },
} as const;

function toEvent({ kind, spec }: DeploymentWrite, metadata: Metadata) {
  const { type, reason, done } = EVENTS[kind];
  return {
    type,
    tenant: metadata.tenant,
    subject: { kind: 'Deployment', name: spec.name, id: metadata.uid } as const,
    reason,
    message: `deployment ${spec.name} ${done}`,
    data: { generation: metadata.generation },
  };
}
