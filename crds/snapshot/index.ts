/**
 * Snapshots: there are none, and none can be made.
 *
 * Creation is refused whatever the body says, with the alternatives on the code's page; a look-up finds nothing.
 *
 * @module
 */
import { FieldPath } from '../grammar/index.js';
import { type Rejection, reject } from '../rejections/index.js';

export { snapshotKind } from './kind.js';

/** The answer to every request for a snapshot. The body is not looked at. */
export function rejectSnapshot(volumeId: string): Rejection {
  return reject(
    'volume_snapshot_not_implemented',
    FieldPath.root.child('volumes').child(volumeId).child('snapshots'),
    undefined,
  );
}

/** The answer to every look-up of a snapshot. */
export function rejectSnapshotLookup(snapshot: string): Rejection {
  return reject('volume_snapshot_not_found', 'snapshots/{snap}', snapshot);
}
