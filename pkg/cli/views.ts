import { type Deployment, type DeploymentStatus, getStatedReplicas } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import type { Job, JobStatus, StoredJob } from '../../crds/job/index.js';
import type { Metadata } from '../../crds/meta/index.js';
import type { AdvertisedCondition, AdvertisedEngine, Capacity, NodeCondition } from '../../crds/node/index.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';

/** A deployment as the server shows it. It has no status until the status roller has written one. */
export interface DeploymentView extends Deployment {
  readonly metadata: Metadata & { readonly revision: string };
  readonly status?: DeploymentStatus | null;
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

export interface JobView extends Job {
  readonly metadata: StoredJob['metadata'] & { readonly revision: string };
  readonly status: Omit<JobStatus, 'uid'>;
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

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
  /** What its engine cannot do; servers of earlier releases do not say. */
  readonly lacks?: readonly string[];
  readonly unobservedSince?: string;
  readonly metadata: Metadata;
}

export type EventView = StoredEvent & { readonly revision?: string };
export type TenantView = StoredTenant;

/** One node in an explanation of placement: why it was filtered out, or how it ranks. */
export interface CandidateView {
  readonly node: string;
  readonly replicas: number;
  readonly rank: number | null;
  readonly reasons: readonly {
    readonly filter: string;
    readonly message: string;
    readonly inTheWay?: readonly HolderView[];
  }[];
  readonly whyHere?: string;
}

/** What stands in the way of a replica on a node. */
export interface HolderView {
  readonly deployment?: string;
  readonly job?: string;
  readonly replica?: number;
  readonly attempt?: number;
  readonly node?: string;
  readonly holds: string;
  readonly isLeaving?: true;
}

/** Whether a deployment runs as its spec says: `no` means that waiting longer will not help by itself. */
export type Readiness = 'yes' | 'notYet' | 'no';

/** Uses the status of the latest generation only. */
export function assessReadiness({ metadata, replicas: specified, status }: DeploymentView): Readiness {
  if (!status || status.uid !== metadata.uid || status.observedGeneration < metadata.generation) return 'notYet';
  if (status.phase === 'Failed') return 'no';
  const replicas = getStatedReplicas({ replicas: specified, status });
  const settled = status.phase === 'Running' || status.phase === 'Stopped';
  const complete = status.readyReplicas >= replicas && status.updatedReplicas >= replicas;
  return settled && complete ? 'yes' : 'notYet';
}
