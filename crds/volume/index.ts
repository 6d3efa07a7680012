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
export type { ReplicaFacts, VolumeFacts, VolumeNode } from './admission.js';
export { admitVolume, checkVolumeReplica, VOLUME_REPLICAS_MAX } from './admission.js';
export type {
  KnownVolume,
  MountType,
  StoredVolume,
  VolumeClass,
  VolumeConsumer,
  VolumePhase,
  VolumeReplica,
  VolumeSpec,
} from './volume.js';
export { rejectVolumeRemoval } from './volume.js';
export { volumeKind } from './kind.js';
