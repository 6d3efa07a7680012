import type { AssignedReplication, VolumePeer, VolumeRole } from './replication.js';
import type { VolumeTerm } from './terms.js';
import { isHeldVolume, isMadeVolume, type StoredVolume, type VolumeSpec, type VolumeStatus } from './volume.js';

/** A volume as the agent of one of its nodes gets it: nothing else of it leaves the control plane. */
export type AssignedVolume = AssignedBytes & (RemovalOrder | { readonly [Key in keyof RemovalOrder]?: undefined });

/** Bytes of a volume that is merely not assigned are kept. */
interface RemovalOrder {
  /** Its bytes are to be removed. */
  readonly isDeleted: true;
  /** The epoch that the store knows, 0 where it knows of none, and while a node has a later one. Newer bytes than the order stay. */
  readonly removedIn: number;
  /** The terms that the order knows of: bytes of another history stay too. */
  readonly lineage: readonly VolumeTerm[];
}

interface AssignedBytes extends Pick<VolumeSpec, 'name' | 'type' | 'sizeBytes'> {
  readonly id: string;
  /** It was made once: bytes that are missing are lost or away, and no reason for an empty volume. */
  readonly isMade?: true;
  readonly replication?: AssignedReplication;
}

/** What a node gets of a volume; undefined when it has nothing to do with it. */
export function toAssignedVolume(
  volume: StoredVolume,
  status: VolumeStatus,
  nodeId: string,
  terms: ReplicationTerms,
): AssignedVolume | undefined {
  const role = findVolumeRole(status, nodeId);
  if (role === undefined) return undefined;
  const { id, name, type, sizeBytes, metadata } = volume;
  const replication = toAssignedReplication(volume, status, nodeId, terms);
  const isDeleted = metadata.deletedAt !== undefined || role === 'leaving';
  // Without its term an agent would take it for a volume that has no copies.
  if (volume.class === 'replicated' && !isDeleted && !replication) return undefined;
  // While a node is ahead of what the store knows, nobody can say which copy is needed: none goes.
  const { epoch = 0, lineage = [] } = status;
  const removedIn = isHeldVolume(status) ? 0 : epoch;
  // A copy that is missing is made again, and filled by the primary.
  const isMade = role !== 'replica' && isMadeVolume(status);
  return {
    id,
    name,
    type,
    sizeBytes,
    ...(isDeleted ? { isDeleted, removedIn, lineage } : {}),
    ...(isMade && { isMade: true as const }),
    ...(replication && { replication }),
  };
}

/** What a node is to a volume; `leaving`: its copy is being removed. */
function findVolumeRole(
  { primaryNode, copies, leaving = [] }: Pick<VolumeStatus, 'primaryNode' | 'copies' | 'leaving'>,
  nodeId: string,
): VolumeRole | 'leaving' | undefined {
  if (primaryNode === nodeId) return 'primary';
  if (copies.some(copy => copy.nodeId === nodeId)) return 'replica';
  return leaving.includes(nodeId) ? 'leaving' : undefined;
}

/** The nodes that have, are to have, or are to lose bytes of a volume. */
export function listVolumeNodes(status: Pick<VolumeStatus, 'primaryNode' | 'copies' | 'leaving'>): readonly string[] {
  const { primaryNode, copies, leaving = [] } = status;
  const own = primaryNode === undefined ? [] : [primaryNode];
  return [...new Set([...own, ...copies.map(({ nodeId }) => nodeId), ...leaving])];
}

/** What all agents of one control plane are sent. */
interface ReplicationTerms {
  readonly findPeer: (nodeId: string) => VolumePeer | undefined;
  readonly intervalSeconds: number;
  readonly fenceAfterSeconds: number;
  /** That the control plane has issued a term of the volume. */
  readonly proveTerm: (term: VolumeTerm) => string;
}

/** The part of a node in the replication of a volume; undefined where nothing is copied. */
function toAssignedReplication(
  { class: kind, metadata, discarded = [] }: StoredVolume,
  status: VolumeStatus,
  nodeId: string,
  { findPeer, proveTerm, ...terms }: ReplicationTerms,
): AssignedReplication | undefined {
  const role = findVolumeRole(status, nodeId);
  const { lineage, primaryNode, copies, finalFor } = status;
  const term = lineage?.at(-1);
  if (kind !== 'replicated' || term === undefined || metadata.deletedAt !== undefined) return undefined;
  if (role === undefined || role === 'leaving') return undefined;
  const others = role === 'primary' ? copies.map(copy => copy.nodeId) : primaryNode === undefined ? [] : [primaryNode];
  const isHeld = role === 'primary' && isHeldVolume(status);
  const peers = others.flatMap(id => findPeer(id) ?? []);
  const isFinal = role === 'primary' && finalFor !== undefined;
  const discard = discarded.flatMap(each => (each.nodeId === nodeId ? [{ name: each.name, at: each.at }] : []));
  return {
    ...term,
    epochProof: proveTerm(term),
    role,
    peers,
    ...terms,
    ...(isHeld && { isHeld: true as const }),
    ...(isFinal && { finalFor }),
    ...(discard.length > 0 && { discard }),
  };
}
