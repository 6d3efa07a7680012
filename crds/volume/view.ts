import type { Metadata } from '../meta/index.js';
import type { EndedMove, VolumeMove } from './move.js';
import type { DivergentBytes, VolumeFailover, VolumeReplica } from './replication.js';
import type { VolumeConsumer, VolumeSpec, VolumeStatus } from './volume.js';

/** A volume as the API shows it. */
export interface VolumeView extends Omit<VolumeSpec, 'replicas' | 'primaryNode'> {
  readonly metadata: Metadata;
  readonly id: string;
  readonly phase: VolumeStatus['phase'];
  readonly reason: string;
  readonly message: string;
  /** The id of the node that has the bytes. */
  readonly primaryNode: string | null;
  readonly primaryNodeName: string | null;
  /** Counted up by each promotion and move; null for a volume without copies. */
  readonly epoch: number | null;
  readonly wantedReplicas: number;
  readonly replicas: readonly (VolumeReplica & { readonly nodeName: string | null; readonly lagSeconds?: number })[];
  /** What former primaries have set aside. */
  readonly divergent: readonly (DivergentBytes & {
    readonly nodeId: string;
    readonly nodeName?: string | null;
    /** A user gave it up: its node is to remove it. */
    readonly isDiscarded?: boolean;
  })[];
  readonly move: (VolumeMove & { readonly toName: string | null }) | null;
  readonly lastMove: EndedMove | null;
  readonly failover: VolumeFailover | null;
  readonly driver: string | null;
  readonly limits: string | null;
  readonly usedBytes: number | null;
  readonly measuredAt: string | null;
  /** The size that it has on its node. */
  readonly capacityBytes: number | null;
  /** The size that was asked for when its node last looked. */
  readonly targetBytes: number | null;
  readonly since: string | null;
  readonly consumers: readonly VolumeConsumer[];
}
