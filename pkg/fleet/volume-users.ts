import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredJob } from '../../crds/job/index.js';
import { isDnsLabel, isTypedId } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNetwork } from '../../crds/network/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import type { StoredVolume, VolumeStatus } from '../../crds/volume/index.js';
import { type Cache, listValues, readValue } from '../store/index.js';
import { findNode } from './candidates.js';
import { isJobEnded } from './jobs.js';

/** What the workloads that mount a volume have in common. */
type VolumeUser = Pick<StoredDeployment, 'name' | 'nodeId' | 'networks' | 'volumes'>;

/** Why what mounts a volume could not run on a node: it names another one, or a network of it is elsewhere. */
export function explainBound(
  cache: Cache,
  { id, metadata: { tenant } }: Pick<StoredVolume, 'id' | 'metadata'>,
  nodeId: string,
): string | undefined {
  const nameOf = (node: string) => findNode(node, tenant, cache)?.name ?? node;
  for (const { name, nodeId: named, networks = [] } of listUsers(cache, tenant, id)) {
    if (named !== undefined && named !== nodeId)
      return `${name} mounts it and names ${nameOf(named)} (nodeId): remove nodeId there first`;
    for (const network of networks) {
      const stored = isDnsLabel(network) ? readValue<StoredNetwork>(cache, keys.network(tenant, network)) : undefined;
      if (stored && stored.nodeId !== nodeId)
        return `${name} mounts it and joins network ${network}, which is on ${nameOf(stored.nodeId)}: remove that first`;
    }
  }
  return undefined;
}

/** What mounts the volume and others too whose bytes are not on a node. */
export function listSeparated(cache: Cache, { id, metadata: { tenant } }: StoredVolume, nodeId: string) {
  const isElsewhere = (volumeId: string) => {
    if (volumeId === id || !isTypedId('vol', volumeId)) return false;
    const { primaryNode } = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, volumeId)) ?? {};
    return primaryNode !== undefined && primaryNode !== nodeId;
  };
  const users = listUsers(cache, tenant, id);
  return users.flatMap(({ name, volumes = [] }) => (volumes.some(each => isElsewhere(each.volumeId)) ? [name] : []));
}

/** A volume that has to be on the same node as another. */
export interface MountedVolume extends Pick<StoredVolume, 'name' | 'class'> {
  readonly primaryNode: string;
  readonly movesTo?: string | undefined;
  /** The nodes that have a complete copy of it, and on which what mounts it could run. */
  readonly copiedTo: readonly string[];
}

/** The volumes that something mounts together with this one, or with one of those. */
export function listMountedWith(
  cache: Cache,
  { id, metadata: { tenant } }: Pick<StoredVolume, 'id' | 'metadata'>,
): readonly MountedVolume[] {
  const groups = listAllUsers(cache, tenant).map(({ volumes = [] }) => volumes.map(({ volumeId }) => volumeId));
  const known = new Set([id]);
  for (const each of known) for (const other of groups.filter(group => group.includes(each)).flat()) known.add(other);
  known.delete(id);
  return [...known].toSorted().flatMap(other => {
    if (!isTypedId('vol', other)) return [];
    const stored = readValue<StoredVolume>(cache, keys.volume(tenant, other));
    const { primaryNode, copies, move } = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, other)) ?? {};
    if (!stored || primaryNode === undefined) return [];
    const { name, class: kind, excludedNodes = [] } = stored;
    const complete = (copies ?? []).flatMap(({ nodeId, state }) => (state === 'synced' ? [nodeId] : []));
    const copiedTo = complete.filter(
      nodeId => !excludedNodes.includes(nodeId) && explainBound(cache, stored, nodeId) === undefined,
    );
    return [{ name, class: kind, primaryNode, movesTo: move?.to, copiedTo }];
  });
}

function listUsers(cache: Cache, tenant: string, id: string): readonly VolumeUser[] {
  return listAllUsers(cache, tenant).filter(({ volumes = [] }) => volumes.some(({ volumeId }) => volumeId === id));
}

function listAllUsers(cache: Cache, tenant: string): readonly VolumeUser[] {
  const deployments = listValues<StoredDeployment>(cache, ranges.of(ranges.deployments, tenant));
  const jobs = listValues<StoredJob>(cache, ranges.of(ranges.jobs, tenant)).filter(job => !isJobEnded(job, cache));
  return [...deployments.filter(({ metadata }) => metadata.deletedAt === undefined), ...jobs];
}

/** The jobs that mount a volume and have an attempt on a node. */
export function listRunningJobs(cache: Cache, { id, metadata: { tenant } }: StoredVolume): readonly string[] {
  const replicas = listValues<Replica>(cache, ranges.of(ranges.replicas, tenant));
  const placed = replicas.filter(({ nodeId, template: { volumes = [] } }) => {
    return nodeId !== undefined && volumes.some(({ volumeId }) => volumeId === id);
  });
  return [...new Set(placed.flatMap(({ deployment }) => parseJobOwner(deployment) ?? []))];
}
