import { isDeepStrictEqual } from 'node:util';

import type { DeploymentFacts, KnownImage, KnownNode } from '../../crds/deployment/index.js';
import { isDnsLabel, isPinned, isTypedId, parseImageReference } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNetwork } from '../../crds/network/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import { getVolumePhase, type KnownVolume, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import { parseCredentialPath, readKeyNames, SecretStoreUnavailableFault } from '../../pkg/secrets/index.js';
import { inSpan, type Span } from '../../pkg/trace/index.js';
import { type Cache, type Guard, readValue, StoreUnavailableFault, value } from '../../pkg/store/index.js';
import type { AdmissionEnv } from './env.js';
import { hasResidency, listDependencies, listSecretPaths, readList, type SubmittedDocument } from './submitted.js';
import {
  listDependents,
  listSecretJobs,
  listSecretUsers,
  listVolumeUsers,
  toKnownDeployment,
  toKnownJob,
  walkDependencies,
} from './relations.js';
import { listRotatingLabels } from './rotations.js';
import { guardConflictKeys, listConflictKeys } from './conflict-keys.js';

/** The nodes of a tenant, or that they could not be read. */
export type KnownNodes = DeploymentFacts['nodes'];

/** What a document is judged by, with the guards that fail when it changes. */
export interface GatheredFacts {
  readonly facts: DeploymentFacts;
  readonly conflictKeys: readonly string[];
  /** Guards on the conflict keys as they were when the facts were read. */
  readonly guards: readonly Guard[];
}

/** Looks up what the document is judged by; each part only where the document needs it. */
export async function gatherFacts(
  env: AdmissionEnv,
  tenant: string,
  submitted: SubmittedDocument,
  span?: Span,
): Promise<GatheredFacts> {
  const { cache, staticFacts } = env;
  const conflictKeys = listConflictKeys(tenant, submitted);
  const { fields } = submitted;
  const needsNodes = fields['nodeId'] !== undefined || hasResidency(submitted);
  const needsRecords =
    conflictKeys.length > 0 ||
    RELATIONS.some(field => fields[field] !== undefined) ||
    isAwaited(cache, tenant, submitted);
  if (!needsRecords && !needsNodes && !env.images) return { facts: staticFacts, conflictKeys, guards: NONE };

  const isReadable = needsRecords || needsNodes ? await refreshCache(cache, needsRecords) : true;
  // Conflict keys first: a change while the rest is read is then noticed at the commit.
  const guards = guardConflictKeys(cache, conflictKeys);
  const [image, secretKeys] = await Promise.all([
    checkImage(env, tenant, submitted, span),
    readSecretKeys(env, tenant, submitted),
  ]);
  const nodes = isReadable ? listKnownNodes(cache, tenant) : 'unreadable';
  const known = needsRecords && readRecords(cache, tenant, submitted);
  return { facts: { ...staticFacts, nodes, ...known, image, secretKeys }, conflictKeys, guards };
}

/** Guards the node that was found: it must still be the same one at the commit. */
export function guardNode(cache: Cache, tenant: string, nodeId: string | undefined): readonly Guard[] {
  if (nodeId === undefined) return [];
  const entries = cache.list(ranges.of(ranges.nodes, tenant));
  const node = entries.find(entry => value<StoredNode>(entry).id === nodeId);
  return node ? [{ key: node.key, created: node.created }] : [];
}

/** The nodes of a tenant as they are now, or that they could not be read. */
export async function readNodes(cache: Cache, tenant: string): Promise<DeploymentFacts['nodes']> {
  return (await refreshCache(cache, false)) ? listKnownNodes(cache, tenant) : 'unreadable';
}

/** Whether deployments wait for the health of a new one that has no check. */
function isAwaited(cache: Cache, tenant: string, submitted: SubmittedDocument): boolean {
  const { stored, fields } = submitted;
  if (stored !== undefined || (fields['healthCheck'] ?? undefined) !== undefined) return false;
  const name = readName(submitted);
  const waiting = name === undefined ? [] : listDependents(cache, tenant, name).map(toKnownDeployment);
  return waiting.some(({ dependsOn }) => dependsOn.some(each => each.name === name && each.condition === 'healthy'));
}

/** The name that a document has or gives, where it is one. */
function readName({ stored, fields }: SubmittedDocument): string | undefined {
  const name = stored?.name ?? fields['name'];
  return typeof name === 'string' && isDnsLabel(name) ? name : undefined;
}

const NONE: readonly Guard[] = [];
/** The fields that refer to other objects. */
const RELATIONS = ['secrets', 'dependsOn', 'volumes', 'networks'];

/** Whether the cache shows everything stored by now. Only nodes may be unreadable: without the rest nothing is judged. */
async function refreshCache(cache: Cache, isRequired: boolean): Promise<boolean> {
  try {
    await cache.barrier();
    return true;
  } catch (thrown) {
    if (isRequired || !(thrown instanceof StoreUnavailableFault)) throw thrown;
    return false;
  }
}

/** Only an image that is new is looked for: one that was pulled long ago may have left its registry since. */
async function checkImage(
  { images }: AdmissionEnv,
  tenant: string,
  { fields, stored }: SubmittedDocument,
  parent: Span | undefined,
): Promise<KnownImage> {
  const { image } = fields;
  if (!images || typeof image !== 'string' || image === stored?.image) return 'unchecked';
  const reference = parseImageReference(image);
  if (!reference || !isPinned(reference)) return 'unchecked';
  return inSpan(parent, 'registry check', async span => {
    const fact = await images.imageFact(tenant, image);
    span?.set({ 'mooring.image_check': fact });
    return fact;
  });
}

/** Only a write that sets variables needs them: all others may succeed while the secrets store is unavailable. */
async function readSecretKeys(
  { secrets }: AdmissionEnv,
  tenant: string,
  submitted: SubmittedDocument,
): Promise<DeploymentFacts['secretKeys']> {
  const readings = listSecretPaths(submitted).map(async ({ path }) => {
    const at = parseCredentialPath(tenant, path);
    const reading = at && (await readKeyNames(secrets, at));
    return reading?.kind === 'found' ? ([path, reading.keys] as const) : undefined;
  });
  try {
    return Object.fromEntries((await Promise.all(readings)).filter(pair => pair !== undefined));
  } catch (thrown) {
    if (thrown instanceof SecretStoreUnavailableFault && !setsVariables(submitted)) return {};
    throw thrown;
  }
}

function setsVariables({ fields, sends, stored }: SubmittedDocument): boolean {
  const before: Readonly<Record<string, unknown>> = stored ? { ...stored } : {};
  const setters = ['environment', 'secrets', 'composedSecrets'];
  return setters.some(field => sends(field) && !isDeepStrictEqual(fields[field], before[field]));
}

function readRecords(cache: Cache, tenant: string, submitted: SubmittedDocument) {
  return {
    deployments: listRelatedDeployments(cache, tenant, submitted),
    rotating: listRotatingLabels(cache, tenant, submitted),
    volumes: listVolumes(cache, tenant, submitted),
    networks: cache.list(ranges.of(ranges.networks, tenant)).map(entry => value<StoredNetwork>(entry)),
  };
}

/** The nodes of a tenant as the cache shows them. */
export function listKnownNodes(cache: Cache, tenant: string): readonly KnownNode[] {
  return cache.list(ranges.of(ranges.nodes, tenant)).map(entry => {
    const { id, name, labels } = value<StoredNode>(entry);
    const alive = cache.get(keys.alive(tenant, name));
    return { id, name, labels, reachable: alive !== undefined && value<NodePresence>(alive).id === id };
  });
}

/** The deployments that the document's relations lead to, and those that have a relation to it. */
function listRelatedDeployments(cache: Cache, tenant: string, submitted: SubmittedDocument) {
  const name = readName(submitted);
  const entries = [
    ...walkDependencies(cache, tenant, listDependencies(submitted)),
    ...listSecretPaths(submitted).flatMap(({ label }) => listSecretUsers(cache, tenant, label)),
    ...(name === undefined ? [] : listDependents(cache, tenant, name)),
  ];
  const jobs = listSecretPaths(submitted).flatMap(({ label }) => listSecretJobs(cache, tenant, label));
  return [...[...new Set(entries)].map(toKnownDeployment), ...[...new Set(jobs)].map(toKnownJob)];
}

function listVolumes(cache: Cache, tenant: string, submitted: SubmittedDocument): readonly KnownVolume[] {
  return readList(submitted, 'volumes').flatMap(({ volumeId, volume_id: alias }) => {
    const id = volumeId ?? alias;
    const entry = typeof id === 'string' && isTypedId('vol', id) ? cache.get(keys.volume(tenant, id)) : undefined;
    if (!entry) return [];
    const volume = value<StoredVolume>(entry);
    const { metadata: _, primaryNode: asked, ...spec } = volume;
    const status = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, spec.id));
    const primaryNode = status?.primaryNode ?? asked;
    return [
      {
        ...spec,
        phase: getVolumePhase(volume, status),
        copies: status?.copies ?? [],
        ...(primaryNode !== undefined && { primaryNode }),
        ...(status?.usedBytes !== undefined && { usedBytes: status.usedBytes }),
        consumers: listVolumeUsers(cache, tenant, spec.id),
      },
    ];
  });
}
