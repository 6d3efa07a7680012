import type { VolumeTerm } from './terms.js';

/** The control plane's leave to send or to receive copies: of one volume, for one term, between the nodes that are named. What comes with a lower epoch is refused. */
export interface AssignedReplication extends VolumeTerm {
  /** That the control plane has issued the term: shown with reports, since a store that was restored from an old backup does not know it. */
  readonly epochProof?: string;
  readonly role: VolumeRole;
  /** On the primary: the nodes that are to have copies. On a replica: the primary alone. */
  readonly peers: readonly VolumePeer[];
  readonly intervalSeconds: number;
  /** An agent whose heartbeats were not answered for so long stops what writes to the volume: another copy may be promoted afterwards. */
  readonly fenceAfterSeconds: number;
  /** On the primary: another node may have later bytes. Nothing may use those that are here, and what writes to them is stopped. */
  readonly isHeld?: true;
  /**
   * On the primary: the epoch that the volume is to move in. Nothing that mounts it is started; when nothing writes any more, a last
   * snapshot is taken, sent, and reported as `final`.
   */
  readonly finalFor?: number;
  /** What was set aside on this node and is to go; each is named with its moment, so that nothing else of its name goes. */
  readonly discard?: readonly Pick<DivergentBytes, 'name' | 'at'>[];
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

/** One copy beside the primary. */
export interface VolumeReplica {
  readonly nodeId: string;
  readonly state: 'syncing' | 'synced' | 'lost';
  /** The moment that the copy shows. */
  readonly syncedAt?: string;
  /** What it does not have yet, as far as that is known. */
  readonly lagBytes?: number;
  /** Of the transfer that is under way. */
  readonly sentBytes?: number;
  readonly totalBytes?: number;
  /** The last time that everything was sent to it. */
  readonly lastWhole?: { readonly bytes: number; readonly seconds: number };
  /** Why it is not further. */
  readonly message?: string;
  /** Since when it is not complete and says why, while the primary serves. Kept by the volume keeper. */
  readonly failingSince?: string;
}

/**
 * How old what a copy shows is, in whole seconds: 0 where nothing is missing, undefined where it was never complete. What a
 * primary said whose node sends no heartbeats any more counts from then on: it may have written since.
 */
export function countLagSeconds(
  { syncedAt, lagBytes }: Pick<VolumeReplica, 'syncedAt' | 'lagBytes'>,
  now: number,
  { reason, since }: { readonly reason?: string; readonly since?: string } = {},
): number | undefined {
  if (syncedAt === undefined) return undefined;
  const countFrom = (moment: string) => Math.max(0, Math.floor((now - Date.parse(moment)) / 1000));
  if (lagBytes !== 0) return countFrom(syncedAt);
  return reason === 'volume_node_silent' && since !== undefined ? countFrom(since) : 0;
}

/** How far a copy is, as the agent of the primary sees it. */
export interface SeenCopy extends Omit<VolumeReplica, 'state' | 'failingSince'> {
  readonly state: 'syncing' | 'synced';
}

/** The last snapshot before a move: nothing was written after it. Sent by the primary that took it, and by each copy that has it. */
export interface FinalSnapshot {
  /** That the volume is to move in. */
  readonly epoch: number;
  readonly snapshot: string;
  readonly at: string;
}

/** Why an agent does not promise that what writes to a volume stops by itself. */
export type UnfencedReason = 'no_fencer' | 'state_unwritable' | 'agent_stopping';

/** What becomes of a volume when the machine of its primary is lost. */
export interface VolumeFailover {
  /** `automatic`: a copy takes over; `manual`: once `moor nodes fence` says that the machine is off; `none`: no copy is complete. */
  readonly mode: 'automatic' | 'manual' | 'none';
  /** Of `automatic`: so long after its last answered heartbeat nothing on that machine writes any more. */
  readonly writesStopAfterSeconds?: number;
  /** Why not `automatic`. */
  readonly because?: UnfencedReason | 'no_copy';
}

/** Bytes that the primary does not have, of a former one or of a copy, set aside on their node. The name has the term that they are of. */
export interface DivergentBytes {
  readonly name: string;
  readonly epoch: number;
  readonly at: string;
}
