/**
 * The history of deployments: every accepted configuration is a revision, and is archived in the transaction that stores it.
 *
 * Revisions of a name are numbered without gaps, also across its deletion: the next deployment of the name continues with the
 * number after that of the last.
 *
 *     const { puts } = buildRevision(spec, hash => nextMetadata(stored.metadata, hash, now), { change: 'rollback', … });
 *     const { revisions } = await readHistory(store, cache, tenant, 'web');
 *
 * Whether a configuration is acceptable, guards and events are the caller's.
 *
 * @module
 */
import type { ArchivedRevision, FormerDeployment, FormerDeployments } from '../../crds/archive/index.js';
import { type Deployment, type StoredDeployment, templateFields } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { hashText, type Metadata, toCanonicalText } from '../../crds/meta/index.js';
import { type Cache, encode, type Put, readValue, type Store, value } from '../store/index.js';

/** Revisions of a name that are kept. */
export const REVISIONS_KEPT = 50;

/** What made a revision: all of an archive entry that does not follow from the configuration. */
export type RevisionCause = Omit<ArchivedRevision, 'revision' | 'at' | 'specHash' | 'secretsVersion' | 'spec'>;

/** A revision to store: the record of the deployment, and its archive entry. */
export interface BuiltRevision {
  readonly metadata: Metadata;
  /** The bytes of the deployment. */
  readonly bytes: Buffer;
  readonly puts: readonly [record: Put, archive: Put];
}

/** Metadata of the next revision of a stored deployment. It is not part of the trace of the last one. */
export function nextMetadata(metadata: Metadata, specHash: string, now: number): Metadata {
  const { traceparent: _, ...before } = metadata;
  return { ...before, generation: before.generation + 1, updatedAt: new Date(now).toISOString(), specHash };
}

/** Builds a revision. `toMetadata` is called with the hash of the spec. */
export function buildRevision(
  spec: Deployment,
  toMetadata: (specHash: string) => Metadata,
  cause: RevisionCause,
): BuiltRevision {
  const text = toCanonicalText(spec);
  const metadata = notesLast(toMetadata(hashText(text)));
  // Metadata first: answers are spliced from these bytes.
  const bytes = Buffer.from(`{"metadata":${JSON.stringify(metadata)},${text.slice(1)}`);
  const entry: Omit<ArchivedRevision, 'spec'> = {
    revision: metadata.generation,
    at: metadata.updatedAt,
    by: cause.by,
    operation: cause.operation,
    change: cause.change,
    reason: cause.reason,
    fromRevision: cause.fromRevision,
    fromBackup: cause.fromBackup,
    specHash: metadata.specHash,
    secretsVersion: spec.secretsVersion,
    alterations: cause.alterations,
  };
  const archive = keys.archive(metadata.tenant, metadata.uid, metadata.generation);
  return {
    metadata,
    bytes,
    puts: [
      { key: keys.deployment(metadata.tenant, spec.name), bytes },
      { key: archive, bytes: Buffer.from(`${JSON.stringify(entry).slice(0, -1)},"spec":${text}}`) },
    ],
  };
}

/** What clients keep may be long, and readers look for the rest in the first bytes. */
function notesLast(metadata: Metadata): Metadata {
  if (!metadata.annotations && !metadata.fieldOwners) return metadata;
  const { annotations, fieldOwners, ...identity } = metadata;
  return { ...identity, ...(annotations && { annotations }), ...(fieldOwners && { fieldOwners }) };
}

/**
 * The spec that brings the containers of an archived one back. All else stays as it is now: how many there are, how they are
 * rolled out, what they wait for. Only a rotation moves `secretsVersion`, and nothing lowers it.
 */
export function toRollbackSpec(current: Deployment, archived: Deployment): Deployment {
  const spec: Record<string, unknown> = { ...current };
  for (const field of [...templateFields, 'nodeId'] as const) {
    if (archived[field] === undefined) delete spec[field];
    else spec[field] = archived[field];
  }
  spec['secretsVersion'] = Math.max(current.secretsVersion, archived.secretsVersion);
  return spec as unknown as Deployment;
}

/** An archived revision of one deployment. Undefined when it never was, or is not kept any more. */
export async function readRevision(
  reads: Pick<Store, 'get'>,
  tenant: string,
  uid: string,
  revision: number,
): Promise<ArchivedRevision | undefined> {
  const entry = await reads.get(keys.archive(tenant, uid, revision));
  return entry && value<ArchivedRevision>(entry);
}

/** The deployments that have or had a name, the oldest first, each with its last revision. */
export interface NameHistory {
  readonly deployments: readonly Pick<FormerDeployment, 'uid' | 'lastRevision'>[];
  /** The last of them exists. */
  readonly current: StoredDeployment | undefined;
}

/** Finds the deployments of a name, as the cache shows them. Undefined when there never was one. */
export function findHistory(cache: Cache, tenant: string, name: string): NameHistory | undefined {
  const current = readValue<StoredDeployment>(cache, keys.deployment(tenant, name));
  const former = readFormer(cache, tenant, name);
  const own = current && { uid: current.metadata.uid, lastRevision: current.metadata.generation };
  // Both are in the cache for a moment when one revision deletes the one and puts the other: each deployment counts once.
  const deployments = [...former.filter(({ uid }) => uid !== own?.uid), ...(own ? [own] : [])];
  return deployments.length === 0 ? undefined : { deployments, current };
}

/** The revisions of a name that are kept, the oldest first: at most `limit`, the newest. */
export async function listRevisions(
  reads: Pick<Store, 'page'>,
  tenant: string,
  { deployments }: Pick<NameHistory, 'deployments'>,
  limit = REVISIONS_KEPT,
): Promise<readonly ArchivedRevision[]> {
  let revisions: readonly ArchivedRevision[] = [];
  for (const { uid } of deployments.toReversed()) {
    const older = await listOwnRevisions(reads, tenant, uid);
    revisions = [...older, ...revisions].slice(-limit);
    if (revisions.length === limit) break;
  }
  return revisions;
}

const READ_AT_ONCE = 25;

async function listOwnRevisions(
  reads: Pick<Store, 'page'>,
  tenant: string,
  uid: string,
): Promise<readonly ArchivedRevision[]> {
  const prefix = ranges.archivesOf(tenant, uid);
  const revisions: ArchivedRevision[] = [];
  for (let after: string | undefined, at: number | undefined; ; ) {
    const page = await reads.page(prefix, { after, limit: READ_AT_ONCE, at });
    revisions.push(...page.entries.map(entry => value<ArchivedRevision>(entry)));
    after = page.entries.at(-1)?.key;
    at = page.revision;
    // More than are kept are there until the janitor has looked.
    if (!page.more || after === undefined) return revisions.slice(-REVISIONS_KEPT);
  }
}

/** One revision of a name, of whichever deployment had it then. */
export async function findRevision(
  reads: Pick<Store, 'get'>,
  tenant: string,
  { deployments }: Pick<NameHistory, 'deployments'>,
  revision: number,
): Promise<ArchivedRevision | undefined> {
  const owner = deployments.find(({ lastRevision }) => revision <= lastRevision);
  return owner && readRevision(reads, tenant, owner.uid, revision);
}

/** Each deployment has two revisions at least, so no more of them can be among those that are kept. */
const FORMER_MAX = REVISIONS_KEPT / 2;

function readFormer(cache: Pick<Cache, 'get'>, tenant: string, name: string): readonly FormerDeployment[] {
  return readValue<FormerDeployments>(cache, keys.formerDeployments(tenant, name))?.deployments ?? [];
}

/** The put that makes the archive of a deployment findable by its name, in the transaction that removes its record. */
export function putFormerDeployment(cache: Pick<Cache, 'get'>, { metadata, name }: StoredDeployment): Put {
  const { tenant, uid, generation: lastRevision, deletedAt = metadata.updatedAt } = metadata;
  const deployments = [...readFormer(cache, tenant, name), { uid, lastRevision, deletedAt }].slice(-FORMER_MAX);
  return { key: keys.formerDeployments(tenant, name), bytes: encode({ deployments } satisfies FormerDeployments) };
}
