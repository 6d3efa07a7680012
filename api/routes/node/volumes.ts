import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import { isMadeVolume, listVolumeNodes, type StoredVolume, type VolumeStatus } from '../../../crds/volume/index.js';
import { findNode } from '../../../pkg/fleet/index.js';
import { type Cache, type Entry, value } from '../../../pkg/store/index.js';

/** The statuses of the volumes that have, are to have or are to lose bytes on a node. */
export function listVolumesOf(cache: Cache, { id, metadata }: StoredNode): readonly Entry[] {
  const statuses = cache.list(ranges.of(ranges.volumeStatuses, metadata.tenant));
  return statuses.filter(entry => {
    const status = value<VolumeStatus>(entry);
    return listVolumeNodes(status).includes(id) || hasSetAside(status, id);
  });
}

/** The names of the volumes of which no other node that sends heartbeats has every byte, or of which bytes were set aside on this one. */
export function listOnlyHere(cache: Cache, node: StoredNode): readonly string[] {
  const { tenant } = node.metadata;
  const isReporting = (id: string) => {
    const other = id === node.id ? undefined : findNode(id, tenant, cache);
    return other !== undefined && cache.get(keys.alive(tenant, other.name)) !== undefined;
  };
  const held = listVolumesOf(cache, node).flatMap(entry => {
    const status = value<VolumeStatus>(entry);
    const isOnly = isMadeVolume(status) && (!listComplete(status).some(isReporting) || hasSetAside(status, node.id));
    const volume = isOnly && cache.get(keys.volume(tenant, status.id));
    return volume ? [value<StoredVolume>(volume)] : [];
  });
  const volumes = held.filter(({ type, metadata }) => type === 'volume' && metadata.deletedAt === undefined);
  return volumes.map(({ name }) => name).sort();
}

function hasSetAside({ divergent = [] }: VolumeStatus, nodeId: string): boolean {
  return divergent.some(each => each.nodeId === nodeId);
}

/** The nodes that have every byte, as far as is known. */
function listComplete({ phase, primaryNode, copies }: VolumeStatus): readonly string[] {
  const isServed = primaryNode !== undefined && (phase === 'Ready' || phase === 'Resizing');
  const synced = copies.flatMap(({ nodeId, state }) => (state === 'synced' ? [nodeId] : []));
  return isServed ? [primaryNode, ...synced] : synced;
}
