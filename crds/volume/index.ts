/**
 * Volumes: what a tenant may ask for, and what is known of one.
 *
 * @module
 */
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
