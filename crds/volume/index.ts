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
export {
  admitVolume,
  checkVolumeReplica,
  VOLUME_REPLICAS_MAX,
  VOLUME_SIZE_MAX,
  VOLUME_SIZE_MIN,
} from './admission.js';
export { type EndedMove, movePhases, type VolumeMove } from './move.js';
export { checkVolumeMove, type MoveNode } from './move-admission.js';
export { stepTowards, type VolumePhase, volumePhases } from './phases.js';
export { checkVolumeReports } from './reports.js';
export { believeReport } from './believe.js';
export { type AssignedVolume, listVolumeNodes, toAssignedVolume } from './assigned.js';
export type {
  AssignedReplication,
  DivergentBytes,
  FinalSnapshot,
  SeenCopy,
  VolumeFailover,
  VolumePeer,
  VolumeReplica,
  VolumeRole,
} from './replication.js';
export { extendLineage, GENERATION_ID, isForeignTerm, isSameTerm, type VolumeTerm } from './terms.js';
export { isDiscardFinished, listOpenDiscards } from './discards.js';
export { countLagSeconds } from './replication.js';
export { checkVolumeResize, findSizeProblem, type ResizeFacts } from './resize.js';
export type {
  DiscardedBytes,
  KnownVolume,
  MountType,
  SeenVolume,
  StoredVolume,
  VolumeConsumer,
  VolumeReport,
  VolumeSpec,
  VolumeStatus,
} from './volume.js';
export {
  getVolumePhase,
  isHeldVolume,
  isMadeVolume,
  rejectVolumeRemoval,
  toVolumeSubject,
} from './volume.js';
export { volumeKind } from './kind.js';
export type { VolumeView } from './view.js';
