import { FieldPath } from '../grammar/index.js';
import type { Metadata } from '../meta/index.js';
import { reject, type Rejection } from '../rejections/index.js';
import type { Residency } from '../residency/index.js';

export type VolumeClass = 'ephemeral' | 'replicated' | 'object';

/** How a volume reaches a container. */
export type MountType = 'volume' | 'bind' | 'tmpfs';

export type VolumePhase =
  | 'Pending'
  | 'Materializing'
  | 'Ready'
  | 'Degraded'
  | 'Promoting'
  | 'Resizing'
  | 'Failed'
  | 'Deleting';

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

/** One copy beside the primary. */
export interface VolumeReplica {
  readonly nodeId: string;
  readonly state: 'syncing' | 'synced' | 'lost';
  readonly syncedAt?: string;
  readonly lagBytes?: number;
}

/** Who mounts a volume. */
export interface VolumeConsumer {
  readonly deployment: string;
  readonly readOnly: boolean;
}

/** A volume as rules see it, wherever its parts are stored. */
export interface KnownVolume extends VolumeSpec {
  readonly id: string;
  readonly phase: VolumePhase;
  readonly copies: readonly VolumeReplica[];
  readonly usedBytes?: number;
  readonly consumers: readonly VolumeConsumer[];
}

/** `volumes/<tenant>/<id>`: what the API stores of a volume. */
export interface StoredVolume extends VolumeSpec {
  readonly metadata: Metadata;
  readonly id: string;
}

/** Why a volume may not be deleted now, if anything stands against it. */
export function rejectVolumeRemoval({ id, consumers }: Pick<KnownVolume, 'id' | 'consumers'>): Rejection | undefined {
  if (consumers.length === 0) return undefined;
  return reject('volume_in_use', FieldPath.root.child('id'), id, {
    users: consumers.map(({ deployment }) => deployment),
  });
}
