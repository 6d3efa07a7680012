import { isDeepStrictEqual } from 'node:util';

import type { DeploymentFacts, KnownImage, KnownNode } from '../../crds/deployment/index.js';
import { isDnsLabel, isPinned, isTypedId, parseImageReference } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNetwork } from '../../crds/network/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import { getVolumePhase, type KnownVolume, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import { parseCredentialPath, readKeyNames, SecretStoreUnavailableFault } from '../../pkg/secrets/index.js';
import { type Cache, type Guard, readValue, value } from '../../pkg/store/index.js';
import { inSpan, type Span } from '../../pkg/trace/index.js';
import type { FactsInput } from '../write/write.js';
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
import { listConflictKeys } from './conflict-keys.js';

/** The nodes of a tenant, or that they could not be read. */
export type KnownNodes = DeploymentFacts['nodes'];

/** What of the cache a document is judged by: everything, the nodes, or nothing. */
export function chooseFreshness(cache: Cache, tenant: string, submitted: SubmittedDocument): 'all' | 'nodes' | 'none' {
  const { fields } = submitted;
  const needsRecords =
    listConflictKeys(tenant, submitted).length > 0 ||
    RELATIONS.some(field => fields[field] !== undefined) ||
    isAwaited(cache, tenant, submitted);
  if (needsRecords) return 'all';
  return fields['nodeId'] !== undefined || hasResidency(submitted) ? 'nodes' : 'none';
}

/** Looks up what the document is judged by; each part only where the document needs it. */
export async function gatherFacts(
  env: AdmissionEnv,
  tenant: string,
  submitted: SubmittedDocument,
  { isFresh, span }: Pick<FactsInput, 'isFresh' | 'span'>,
): Promise<DeploymentFacts> {
  const { cache, staticFacts } = env;
  const needed = chooseFreshness(cache, tenant, submitted);
  if (needed === 'none' && !env.images) return staticFacts;
  const [image, secretKeys] = await Promise.all([
    checkImage(env, tenant, submitted, span),
    readSecretKeys(env, tenant, submitted),
  ]);
  const nodes = isFresh || needed !== 'nodes' ? listKnownNodes(cache, tenant) : 'unreadable';
  return { ...staticFacts, nodes, ...(needed === 'all' && readRecords(cache, tenant, submitted)), image, secretKeys };
}

/** Guards the node that was found: it must still be the same one at the commit. */
export function guardNode(cache: Cache, tenant: string, nodeId: string | undefined): readonly Guard[] {
  if (nodeId === undefined) return [];
  const entries = cache.list(ranges.of(ranges.nodes, tenant));
  const node = entries.find(entry => value<StoredNode>(entry).id === nodeId);
  return node ? [{ key: node.key, created: node.created }] : [];
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

/** The fields that refer to other objects. */
const RELATIONS = ['secrets', 'dependsOn', 'volumes', 'networks'];

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
