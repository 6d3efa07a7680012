/**
 * Volumes: what a tenant may ask for, what is known of one, and where its copies may be.
 *
 *     const admission = admitVolume(document, { nodes, regions });
 *     if (!admission.ok) return admission.rejections;
 *
 * Mounting is a field of workloads; phases, copies and promotion are the volume keeper's.
 *
 * @module
 */
export type { VolumeFacts } from './admission.js';
export { admitVolume, checkVolumeReplica, VOLUME_REPLICAS_MAX } from './admission.js';
export type {
  KnownVolume,
  MountType,
  StoredVolume,
  VolumeConsumer,
  VolumePhase,
} from './volume.js';
export { rejectVolumeRemoval } from './volume.js';
export { volumeKind } from './kind.js';
