/**
 * Volumes on the disk of a node: one interface (`VolumeDriver`), two drivers.
 *
 *     const driver = await openVolumeDriver('auto', { clock, root: '/var/lib/mooring/volumes', reserveBytes, keepRemovedMs });
 *     await driver.recover();
 *     await driver.materialise({ id, sizeBytes });
 *
 * `LocalVolumes` is what both have in common: turns, records of sizes, checksums, what is checked before anything is replaced. A
 * `Backend` has the steps that differ. Which node holds which volume is decided elsewhere.
 *
 * @module
 */
export { BoundFolders, findBadRoot } from './bound-folders.js';
export { type RemovedBytes, type VolumeDriver, type VolumeDriverName, VolumeFault } from './driver.js';
export { releaseBuffer } from './spent-bytes.js';
export { CHECKSUM_BYTES, StallWatch, StreamChecksum } from './stream-checksum.js';
export { roundSize } from './volume-checks.js';
export { openVolumeDriver, type VolumeDriverChoice } from './open-driver.js';
export { measureRoom, VolumeRoom } from './volume-room.js';
