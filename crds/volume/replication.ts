import type { StoredVolume, VolumeReplica, VolumeStatus } from './volume.js';

/** The control plane's leave to send or to receive copies: of one volume, for one epoch, between the nodes that are named. */
export interface AssignedReplication {
  /** Raised by each promotion and move. What comes with a lower one is refused. */
  readonly epoch: number;
  readonly role: VolumeRole;
  /** On the primary: the nodes that are to have copies. On a replica: the primary alone. */
  readonly peers: readonly VolumePeer[];
  readonly intervalSeconds: number;
  /** An agent that was not heard for so long stops what writes to the volume: another copy may be promoted afterwards. */
  readonly fenceAfterSeconds: number;
}

export type VolumeRole = 'primary' | 'replica';

/** A node at the other end of replication. */
export interface VolumePeer {
  readonly nodeId: string;
  /** The node's own key, as it was enrolled. */
  readonly publicKey: string;
  /** `host:port`; absent when it does not listen. */
  readonly address?: string;
}

/** How far a copy is, as the agent of the primary sees it. */
export interface SeenCopy extends Omit<VolumeReplica, 'state'> {
  readonly state: 'syncing' | 'synced';
}

/** Bytes of a former primary that no other copy has, set aside on its node. */
export interface DivergentBytes {
  readonly name: string;
  readonly epoch: number;
  readonly at: string;
}

/** What a node is to a volume; `leaving`: its copy is being removed. */
export function findVolumeRole(
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

/** What the agents of one control plane are told alike. */
export interface ReplicationTerms {
  readonly findPeer: (nodeId: string) => VolumePeer | undefined;
  readonly intervalSeconds: number;
  readonly fenceAfterSeconds: number;
}

/** The part of a node in the replication of a volume; undefined where nothing is copied. */
export function toAssignedReplication(
  { class: kind, metadata }: StoredVolume,
  status: VolumeStatus,
  nodeId: string,
  { findPeer, ...terms }: ReplicationTerms,
): AssignedReplication | undefined {
  const role = findVolumeRole(status, nodeId);
  const { epoch, primaryNode, copies } = status;
  if (kind !== 'replicated' || epoch === undefined || metadata.deletedAt !== undefined) return undefined;
  if (role === undefined || role === 'leaving') return undefined;
  const others = role === 'primary' ? copies.map(copy => copy.nodeId) : primaryNode === undefined ? [] : [primaryNode];
  return { epoch, role, peers: others.flatMap(id => findPeer(id) ?? []), ...terms };
}
