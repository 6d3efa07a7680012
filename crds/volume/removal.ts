import { FieldPath } from '../grammar/index.js';
import { type Rejection, reject } from '../rejections/index.js';
import type { KnownVolume } from './volume.js';

/** Why a volume may not be deleted now, if anything stands against it. */
export function rejectVolumeRemoval({ id, consumers }: Pick<KnownVolume, 'id' | 'consumers'>): Rejection | undefined {
  if (consumers.length === 0) return undefined;
  return reject('volume_in_use', FieldPath.root.child('id'), id, {
    users: consumers.map(({ deployment }) => deployment),
  });
}
