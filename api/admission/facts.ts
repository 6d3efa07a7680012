import { isDeepStrictEqual } from 'node:util';

import type { DeploymentFacts, KnownImage, KnownNode } from '../../crds/deployment/index.js';
import { isPinned, isTypedId, parseImageReference } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import type { KnownVolume, StoredVolume } from '../../crds/volume/index.js';
import { readKeyNames, parseCredentialPath, SecretStoreUnavailableFault } from '../../pkg/secrets/index.js';
import { type Cache, type Guard, StoreUnavailableFault, value } from '../../pkg/store/index.js';
import type { ApiEnv } from '../env.js';
import { type Asked, asksResidency, dependenciesIn, listIn, secretPathsIn } from './asked.js';
import { consumersOf, knownDeployment, reachable, usersOfSecret, waitersFor } from './relations.js';
import { rotatingLabels } from './rotations.js';
import { turnGuards, turnsOf } from './conflict-keys.js';

/** What a document is judged by, and what holds a write to it. */
export interface Gathered {
  readonly facts: DeploymentFacts;
  readonly turns: readonly string[];
  /** The turns as they stood when the facts were read. */
  readonly guards: readonly Guard[];
}

/** What admission must know of the world, for this document: each part is looked up only where the document asks for it. */
export async function gatherFacts(env: ApiEnv, tenant: string, asked: Asked): Promise<Gathered> {
  const { cache, still } = env;
  const turns = turnsOf(tenant, asked);
  const wants = wantedBy(asked, turns);
  if (!wants.records && !wants.nodes && !env.images) return { facts: still, turns, guards: NONE };

  const isReadable = wants.records || wants.nodes ? await broughtUpToDate(cache, wants.records) : true;
  // Turns first: whatever changes while the rest is read is then noticed when the write is made.
  const guards = turnGuards(cache, turns);
  const [image, secretKeys] = await Promise.all([imageFact(env, tenant, asked), keysOfSecrets(env, tenant, asked)]);
  const nodes = isReadable ? nodesIn(cache, tenant) : 'unreadable';
  const known = wants.records && recordsFor(cache, tenant, asked);
  return { facts: { ...still, nodes, ...known, image, secretKeys }, turns, guards };
}

/** Holds the write to the node that was found: it must still be the same one. */
export function nodeGuards(cache: Cache, tenant: string, nodeId: string | undefined): readonly Guard[] {
  if (nodeId === undefined) return [];
  const entries = cache.list(ranges.of(ranges.nodes, tenant));
  const node = entries.find(entry => value<StoredNode>(entry).id === nodeId);
  return node ? [{ key: node.key, created: node.created }] : [];
}

/** The nodes of a tenant as they are now, or that they could not be read. */
export async function knownNodes(cache: Cache, tenant: string): Promise<DeploymentFacts['nodes']> {
  return (await broughtUpToDate(cache, false)) ? nodesIn(cache, tenant) : 'unreadable';
}

const NONE: readonly Guard[] = [];

function wantedBy(asked: Asked, turns: readonly string[]) {
  const { fields } = asked;
  return {
    nodes: fields['nodeId'] !== undefined || asksResidency(asked),
    records:
      turns.length > 0 || ['secrets', 'dependsOn', 'volumes', 'networks'].some(field => fields[field] !== undefined),
  };
}

/** Whether the cache shows everything stored by now. Only nodes may be unreadable: without the rest nothing is judged. */
async function broughtUpToDate(cache: Cache, mustBe: boolean): Promise<boolean> {
  try {
    await cache.barrier();
    return true;
  } catch (thrown) {
    if (mustBe || !(thrown instanceof StoreUnavailableFault)) throw thrown;
    return false;
  }
}

/** Only an image that is new is looked for: one that was pulled long ago may have left its registry since. */
async function imageFact({ images }: ApiEnv, tenant: string, { fields, stored }: Asked): Promise<KnownImage> {
  const { image } = fields;
  if (!images || typeof image !== 'string' || image === stored?.image) return 'unchecked';
  const reference = parseImageReference(image);
  return reference && isPinned(reference) ? images.imageFact(tenant, image) : 'unchecked';
}

/** Only what sets variables is judged by them: everything else may change while the secrets store is away. */
async function keysOfSecrets(env: ApiEnv, tenant: string, asked: Asked): Promise<DeploymentFacts['secretKeys']> {
  try {
    return await readKeys(env, tenant, asked);
  } catch (thrown) {
    if (thrown instanceof SecretStoreUnavailableFault && !setsVariables(asked)) return {};
    throw thrown;
  }
}

function setsVariables({ fields, sends, stored }: Asked): boolean {
  const before: Readonly<Record<string, unknown>> = stored ? { ...stored } : {};
  const setters = ['environment', 'secrets', 'composedSecrets'];
  return setters.some(field => sends(field) && !isDeepStrictEqual(fields[field], before[field]));
}

async function readKeys({ secrets }: ApiEnv, tenant: string, asked: Asked) {
  const found = await Promise.all(
    secretPathsIn(asked).map(async ({ path }) => {
      const at = parseCredentialPath(tenant, path);
      const reading = at && (await readKeyNames(secrets, at));
      return reading?.kind === 'found' ? ([path, reading.keys] as const) : undefined;
    }),
  );
  return Object.fromEntries(found.filter(pair => pair !== undefined));
}

function recordsFor(cache: Cache, tenant: string, asked: Asked) {
  return {
    deployments: relatedDeployments(cache, tenant, asked),
    rotating: rotatingLabels(cache, tenant, asked),
    volumes: volumesIn(cache, tenant, asked),
    networks: cache.list(ranges.of(ranges.networks, tenant)).map(({ key }) => key.slice(key.lastIndexOf('/') + 1)),
  };
}

function nodesIn(cache: Cache, tenant: string): readonly KnownNode[] {
  return cache.list(ranges.of(ranges.nodes, tenant)).map(entry => {
    const { id, name, labels } = value<StoredNode>(entry);
    const alive = cache.get(keys.alive(tenant, name));
    return { id, name, labels, reachable: alive !== undefined && value<NodePresence>(alive).id === id };
  });
}

/** The deployments that the document's relations lead to, and those that have a relation to it. */
function relatedDeployments(cache: Cache, tenant: string, asked: Asked) {
  const name = asked.stored?.name;
  const entries = [
    ...reachable(cache, tenant, dependenciesIn(asked)),
    ...secretPathsIn(asked).flatMap(({ label }) => usersOfSecret(cache, tenant, label)),
    ...(name === undefined ? [] : waitersFor(cache, tenant, name)),
  ];
  return [...new Set(entries)].map(knownDeployment);
}

/** What the volume keeper says of a volume. */
type VolumeStatus = Pick<KnownVolume, 'phase' | 'copies' | 'usedBytes' | 'primaryNode'> & { readonly id: string };

function volumesIn(cache: Cache, tenant: string, asked: Asked): readonly KnownVolume[] {
  return listIn(asked, 'volumes').flatMap(({ volumeId, volume_id: alias }) => {
    const id = volumeId ?? alias;
    const entry = typeof id === 'string' && isTypedId('vol', id) ? cache.get(keys.volume(tenant, id)) : undefined;
    if (!entry) return [];
    const { metadata: _, ...spec } = value<StoredVolume>(entry);
    const status = cache.get(keys.volumeStatus(tenant, spec.id));
    const seen = status ? value<VolumeStatus>(status) : { phase: 'Pending' as const, copies: [] };
    return [{ ...spec, ...seen, id: spec.id, consumers: consumersOf(cache, tenant, spec.id) }];
  });
}
