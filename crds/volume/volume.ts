import { FieldPath } from '../grammar/index.js';
import type { Metadata } from '../meta/index.js';
import { reject, type Rejection } from '../rejections/index.js';
import type { Reason } from '../reasons/index.js';
import type { Residency } from '../residency/index.js';
import type { EndedMove, VolumeMove, VolumeMoveOrder } from './move.js';
import type { VolumePhase } from './phases.js';
import type {
  DivergentBytes,
  FinalSnapshot,
  SeenCopy,
  UnfencedReason,
  VolumeFailover,
  VolumeReplica,
  VolumeRole,
} from './replication.js';
import type { VolumeTerm } from './terms.js';

export type VolumeClass = 'ephemeral' | 'replicated' | 'object';

/** How a volume reaches a container. */
export type MountType = 'volume' | 'bind' | 'tmpfs';

/** What a tenant asks for, after admission. */
export interface VolumeSpec {
  readonly name: string;
  readonly class: VolumeClass;
  readonly type: MountType;
  readonly sizeBytes: number;
  readonly accessMode: 'ReadWriteOnce';
  /** Copies beside the primary; of a replicated volume only. */
  readonly replicas?: number;
  /** Always an id. */
  readonly primaryNode?: string;
  readonly residency?: Residency;
}

/** Who mounts a volume. */
export interface VolumeConsumer {
  /** Its name; of a job `job.<name>`. */
  readonly deployment: string;
  readonly readOnly: boolean;
}

/** A volume as rules see it, wherever its parts are stored. */
export interface KnownVolume extends VolumeSpec {
  readonly id: string;
  readonly phase: VolumePhase;
  readonly copies: readonly VolumeReplica[];
  readonly usedBytes?: number;
  readonly driver?: string;
  readonly capacityBytes?: number;
  readonly consumers: readonly VolumeConsumer[];
}

/** `volumes/<tenant>/<id>`: what the API stores of a volume. */
export interface StoredVolume extends VolumeSpec {
  readonly metadata: Metadata;
  readonly id: string;
  /** The nodes that copies were asked for on, by id. */
  readonly replicaNodes?: readonly string[];
  /** The nodes whose copies were asked to go: none is put there again by itself. */
  readonly excludedNodes?: readonly string[];
  /** Of these, those whose bytes a user gave up: they are removed even if no other node has them. */
  readonly abandonedNodes?: readonly string[];
  /** What was set aside and a user gave up: the agents of these nodes remove it. */
  readonly discarded?: readonly DiscardedBytes[];
  /** Where its primary was last asked to move to. */
  readonly move?: VolumeMoveOrder;
}

/** Divergent bytes that are to be removed from the node that has them. */
export interface DiscardedBytes extends Pick<DivergentBytes, 'name' | 'at'> {
  readonly nodeId: string;
}

/** What an agent has seen of one volume of its node. */
export interface SeenVolume {
  readonly id: string;
  /** `removed`: its bytes are gone, as was ordered. */
  readonly state: 'ready' | 'failed' | 'removed';
  /** Why it failed, or why it could not get the size that was asked for. */
  readonly message?: string;
  /** It failed because its bytes, which were there once, are not found. */
  readonly isMissing?: boolean;
  /** What keeps the bytes on the node: `btrfs`, `directory`, `bind` or `tmpfs`. */
  readonly driver?: string;
  /** What that cannot do. */
  readonly limits?: string;
  /** What it holds; left out where that cannot be measured. */
  readonly usedBytes?: number;
  /** Of a replicated volume: what the agent acts as, and in which term. */
  readonly epoch?: number;
  readonly generationId?: string;
  /** As it was assigned with the term; checked when it arrives, and not stored. */
  readonly epochProof?: string;
  readonly role?: VolumeRole;
  /** On the primary: how far each copy is. */
  readonly copies?: readonly SeenCopy[];
  /** On a replica: the moment that its newest complete copy shows, and the term in which its primary has sent it. */
  readonly syncedAt?: string;
  readonly syncedEpoch?: number;
  readonly syncedGenerationId?: string;
  /** While the volume is to move: the last snapshot, once it is here. */
  readonly final?: FinalSnapshot;
  /** What was set aside here. */
  readonly divergent?: readonly DivergentBytes[];
  /** The agent stops what writes to the volume when no server has answered its heartbeats for so long. Left out by one that does not. */
  readonly fencesAfterSeconds?: number;
  /** Why a primary does not. */
  readonly unfenced?: UnfencedReason;
  /** The size that it has. */
  readonly capacityBytes?: number;
  /** The size that was asked for when it was looked at: of one that is ready. */
  readonly targetBytes?: number;
}

/** `volume-reports/<tenant>/<id>/<nodeId>`: one of each node that has, or is to have, bytes of the volume. */
export interface VolumeReport extends SeenVolume {
  readonly nodeId: string;
  readonly at: string;
}

/** A change of the size of a volume. */
export interface VolumeResize {
  readonly bytes: number;
  readonly isShrink?: true;
  /** How long it took; left out where it had to wait for room, or was over before it was looked at. */
  readonly seconds?: number;
}

/** `volume-status/<tenant>/<id>`. */
export interface VolumeStatus {
  readonly id: string;
  readonly phase: VolumePhase;
  readonly reason: Reason;
  readonly message: string;
  /** The id of the node that has the bytes; absent until one is chosen. */
  readonly primaryNode?: string;
  /** Raised by each promotion and move; of a replicated volume only. */
  readonly epoch?: number;
  /** The terms that were issued, oldest first: the last is that of `epoch`. */
  readonly lineage?: readonly VolumeTerm[];
  /** While it is to move: the epoch that it moves in. */
  readonly finalFor?: number;
  /** The move that is under way, and how the last one ended. */
  readonly move?: VolumeMove;
  readonly lastMove?: EndedMove;
  /** The last epoch in which it was ready: only a copy of it may be promoted. */
  readonly servedEpoch?: number;
  readonly copies: readonly VolumeReplica[];
  /** What former primaries have set aside, each on its own node. */
  readonly divergent?: readonly (DivergentBytes & { readonly nodeId: string })[];
  /** Of a replicated volume that has been made. */
  readonly failover?: VolumeFailover;
  /** The nodes that are to remove their bytes. */
  readonly leaving?: readonly string[];
  /** The nodes that could not make it, while it was never made, or could not take over, while it is promoted. */
  readonly refusedBy?: readonly string[];
  readonly driver?: string;
  readonly limits?: string;
  readonly usedBytes?: number;
  readonly measuredAt?: string;
  /** The size that it has on its node, which may be more than was asked for. */
  readonly capacityBytes?: number;
  /** The size that was asked for when its agent last looked; a part of the way while it is shrunk in steps. */
  readonly targetBytes?: number;
  /** The size that it had before the change that is under way. */
  readonly resizeFrom?: number;
  readonly lastResize?: VolumeResize;
  /** When it came into the phase. */
  readonly since: string;
}

/** Whether the bytes of a volume exist, or existed, on its node. */
export function isMadeVolume(status: Pick<VolumeStatus, 'phase'> | undefined): boolean {
  return status !== undefined && status.phase !== 'Pending' && status.phase !== 'Materializing';
}

/** Whether what the control plane takes for the primary may not be the one any more: nothing may use it. */
export function isHeldVolume(status: Pick<VolumeStatus, 'reason'> | undefined): boolean {
  return status?.reason === 'volume_epoch_behind';
}

/** The phase that a volume is in: deletion counts from the moment it was asked for. */
export function getVolumePhase({ metadata }: StoredVolume, status: Pick<VolumeStatus, 'phase'> | undefined) {
  return metadata.deletedAt === undefined ? (status?.phase ?? 'Pending') : 'Deleting';
}

/** The subject of the conflict key of a volume: none is deleted, nor written by two, while a workload that mounts it is written. */
export function toVolumeSubject(id: string): string {
  return `volume.${id}`;
}

/** Why a volume may not be deleted now, if anything stands against it. */
export function rejectVolumeRemoval({ id, consumers }: Pick<KnownVolume, 'id' | 'consumers'>): Rejection | undefined {
  if (consumers.length === 0) return undefined;
  return reject('volume_in_use', FieldPath.root.child('id'), id, {
    users: consumers.map(({ deployment }) => deployment),
  });
}
