import type { Metadata } from '../meta/index.js';
import type { AdvertisedCondition, AdvertisedEngine, AdvertisedRemovals, Capacity, NodeCondition } from './node.js';

/** A node as the server shows it. */
export interface NodeView {
  readonly id: string;
  readonly name: string;
  readonly status: NodeCondition;
  readonly schedulable: { readonly value: boolean; readonly reason: string };
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  readonly free: Capacity;
  readonly agent: { readonly version: string; readonly lastHeartbeatAt?: string | null };
  readonly conditions?: readonly AdvertisedCondition[];
  readonly engine?: AdvertisedEngine | null;
  readonly volumeAddress?: string | null;
  readonly volumeDriver?: string | null;
  /** What its engine cannot do. */
  readonly lacks?: readonly string[];
  /** Volumes that were removed there, whose bytes its agent still has. */
  readonly removedVolumes?: AdvertisedRemovals | null;
  readonly unobservedSince?: string;
  readonly metadata: Metadata;
}
