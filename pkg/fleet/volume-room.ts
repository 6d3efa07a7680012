import { keys, ranges } from '../../crds/keys/index.js';
import { listVolumeNodes, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import { type Cache, listValues, readValue } from '../store/index.js';
import { findNode } from './candidates.js';

/** Whether the size of a volume is taken from the disk of its nodes. */
export function usesDisk({ type }: Pick<StoredVolume, 'type'>): boolean {
  return type === 'volume';
}

/** What the volumes of a tenant take, or are to take, of the disk of each node, by its id. */
export function sumVolumesByNode(cache: Cache, tenant: string): ReadonlyMap<string, number> {
  const promised = new Map<string, number>();
  for (const volume of listValues<StoredVolume>(cache, ranges.of(ranges.volumes, tenant))) {
    const status = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, volume.id));
    if (!status || !usesDisk(volume)) continue;
    const bytes = countTaken(volume, status);
    for (const id of listVolumeNodes(status)) promised.set(id, (promised.get(id) ?? 0) + bytes);
  }
  return promised;
}

/** A driver may take more than was asked for, and gives back what is too much only when it has done so. */
function countTaken({ sizeBytes }: StoredVolume, { capacityBytes = 0 }: VolumeStatus): number {
  return Math.max(sizeBytes, capacityBytes);
}

/**
 * The largest size of a volume that its nodes have room for; undefined where none of them says how large its disk is. Who asks for many
 * sums up once what all of them take.
 */
export function findVolumeRoom(
  cache: Cache,
  volume: StoredVolume,
  promised = sumVolumesByNode(cache, volume.metadata.tenant),
): number | undefined {
  const { tenant } = volume.metadata;
  const status = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, volume.id));
  if (!status || !usesDisk(volume)) return undefined;
  const own = countTaken(volume, status);
  const rooms = listVolumeNodes(status).flatMap(id => {
    const disk = findNode(id, tenant, cache)?.capacity.disk ?? 0;
    return disk > 0 ? [Math.max(0, disk - (promised.get(id) ?? own) + own)] : [];
  });
  return rooms.length === 0 ? undefined : Math.min(...rooms);
}
