import { keys } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { StoredVolume, VolumeStatus } from '../../crds/volume/index.js';
import { type Cache, readValue } from '../store/index.js';
import { findNode } from './candidates.js';

/** What keeps the bytes of a volume, and so each of its copies; undefined while that is not known. */
export function findVolumeDriver(cache: Cache, { id, metadata }: StoredVolume): string | undefined {
  const { tenant } = metadata;
  const { driver, primaryNode = '' } = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, id)) ?? {};
  return driver ?? findNode(primaryNode, tenant, cache)?.volumeDriver;
}

/** Why a node takes no copy of a volume that a driver keeps, after "the node is"; undefined when it does, or when that is not known. */
export function explainNoCopies(
  { volumeAddress, volumeDriver }: Pick<StoredNode, 'volumeAddress' | 'volumeDriver'>,
  driver: string | undefined,
): string | undefined {
  if (volumeAddress === undefined) return 'without an address for copies (moor agent --volume-listen)';
  if (driver === undefined || volumeDriver === undefined || driver === volumeDriver) return undefined;
  return `on the volume driver ${volumeDriver}, not ${driver}`;
}
