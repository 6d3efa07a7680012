import type { PortRange } from '../grammar/index.js';
import type { Condition, Metadata } from '../meta/index.js';
import type { Reason } from '../reasons/index.js';
import type { ContainerEnd, FailedCheck, PullProgress, RetrySchedule } from '../report/index.js';
import type {
  PlacementSpec,
  ResourceRequests,
  SecretReference,
  VolumeMount,
  WorkloadContext,
  WorkloadFacts,
  WorkloadLimits,
} from '../workload/index.js';

/** What a tenant asks for, after admission: every default filled in, every alias normalised. */
export interface Deployment {
  readonly kind: 'Deployment';
  readonly name: string;
  readonly image: string;
  readonly replicas: number;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly ports?: readonly Port[];
  /** Always the id; a name that was sent has been normalised. */
  readonly nodeId?: string;
  readonly healthCheck?: HealthCheck;
  readonly environment?: Readonly<Record<string, string>>;
  /** References only: material goes to the secrets store. */
  readonly secrets?: readonly SecretReference[];
  /** Variables made from secrets, as templates. */
  readonly composedSecrets?: Readonly<Record<string, string>>;
  readonly secretsVersion: number;
  readonly volumes?: readonly VolumeMount[];
  /** Names of networks to join in the place of the tenant's own. */
  readonly networks?: readonly string[];
  readonly resources?: ResourceRequests;
  readonly placement?: PlacementSpec;
  readonly dependsOn?: readonly Dependency[];
  readonly rollout?: Rollout;
  /** How long a container has to end after the signal, before it is killed; absent: what the agent is set to. */
  readonly stopGracePeriod?: string;
  /** Runs in the container before the signal, within the same time. */
  readonly preStop?: readonly string[];
  /** A restart was asked for: another time replaces every container, as a changed image does. */
  readonly restartedAt?: string;
  /** `user` or `user:group`, by id or by name of the image; absent: the image's own. */
  readonly user?: string;
  readonly readOnlyRootFilesystem?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A port of the container, and the port of the node that leads to it. */
export interface Port {
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly protocol: 'tcp' | 'udp';
}

/** How the container runtime asks a container whether it is well. */
export interface HealthCheck {
  readonly type: 'exec';
  /** One element is a shell line; several are one argument each. */
  readonly command: readonly string[];
  readonly retries?: number;
  readonly timeout?: string;
  readonly interval?: string;
  readonly startPeriod?: string;
}

/** Another deployment that has to be there first. */
export interface Dependency {
  readonly name: string;
  readonly condition: 'healthy' | 'started';
}

/** How a new revision replaces the old one. */
export interface Rollout {
  /** Replicas that may run beyond the wanted number while replacing: a number, or a percentage such as `25%`. */
  readonly maxSurge: number | string;
  /** Wanted replicas that may be missing while replacing. */
  readonly maxUnavailable: number | string;
  /** How long a rollout may go without progress. */
  readonly progressDeadline: string;
  /** Whether a rollout that misses its deadline goes back to the revision before. */
  readonly autoRollback: boolean;
  /** While it is true, no replica is replaced. */
  readonly paused?: boolean;
  readonly canary?: Canary;
}

/** A first part of a rollout that waits before the rest follows. */
export interface Canary {
  /** How many replicas run the new template first: a number, or a percentage such as `25%`. */
  readonly replicas: number | string;
  /** How long they have to be healthy before the rest follows; when absent, until they are promoted. */
  readonly hold?: string;
}

/** `deployments/<tenant>/<name>`. `metadata` is the first key, so that answers can be spliced from the bytes. */
export interface StoredDeployment extends Deployment {
  readonly metadata: Metadata;
}

export type DeploymentPhase =
  | 'Pending'
  | 'Unschedulable'
  | 'Waiting'
  | 'Progressing'
  | 'Running'
  | 'Degraded'
  | 'Stopped'
  | 'Failed'
  | 'Deleting';

/** One replica as the status shows it. */
export interface ReplicaStatus {
  readonly replica: number;
  readonly nodeId: string | null;
  /** Kept when the node is deleted, while the replica is still on it. */
  readonly nodeName?: string;
  readonly state: string;
  readonly health: string;
  readonly restarts: number;
  readonly containerId: string | null;
  /** What the replica was made from: while a change is rolled out, not every replica runs the same. */
  readonly image?: string;
  readonly generation?: number;
  /** The user that its container runs as; empty: root. */
  readonly user?: string;
  /** Since when it has been in this state. */
  readonly since?: string;
  /** Why it is not as it should be: one word for programs, and cause and remedy for people. */
  readonly reason?: Reason;
  readonly message?: string;
  /** How its container ended last. Only some replicas carry output, so that a status stays small. */
  readonly lastEnd?: ContainerEnd;
  readonly failedCheck?: FailedCheck;
  readonly retry?: RetrySchedule;
  /** While it pulls its image and that takes longer. */
  readonly pull?: PullProgress;
  /** Why it stays on its node although that node is lost, drained or does not answer. */
  readonly notMoved?: string;
}

/** `status/<tenant>/<name>`: what the status roller has seen. */
export interface DeploymentStatus {
  readonly uid: string;
  readonly phase: DeploymentPhase;
  readonly message: string;
  readonly replicas: number;
  readonly readyReplicas: number;
  readonly updatedReplicas: number;
  readonly observedGeneration: number;
  /** The last revision that was complete, 0 before one was. */
  readonly revision: number;
  readonly secretsVersion: number;
  readonly placements: readonly ReplicaStatus[];
  readonly conditions: readonly Condition[];
  /** How far the rollout of the present revision is; absent until a loop has looked at it, and while its record cannot be worked with. */
  readonly rollout?: RolloutStatus;
  /** While a canary is under way. */
  readonly canary?: CanaryStatus;
  /** While it has a scaling policy: what that has decided. */
  readonly scaling?: ScalingStatus;
  /** While replicas have no node: the filters that refuse nodes. None where the tenant has no nodes. */
  readonly refusedBy?: readonly Reason[];
  /** The last event of each cause of this generation: one that returns soon counts its event up. */
  readonly events?: readonly AnnouncedEvent[];
}

/** The rollout of a deployment as its status shows it. */
export interface RolloutStatus {
  readonly state: 'complete' | 'progressing' | 'canary' | 'paused' | 'failed';
  /** The revision that is rolled out. */
  readonly revision: number;
  /** The last revision that was complete: a rollout that fails goes back to its template. */
  readonly completedRevision?: number;
  /** What it waits for. */
  readonly waitsFor?: string;
  /** The last rollout that missed its deadline, of this revision or of an earlier one. */
  readonly failure?: RolloutFailure;
  /** How the last canary ended. */
  readonly lastCanary?: CanaryOutcome;
}

/** A rollout that made no progress within its deadline. */
export interface RolloutFailure {
  readonly revision: number;
  readonly at: string;
  /** One word for programs: what holds the replica up. */
  readonly reason: Reason;
  /** For people. Never holds output of the container. */
  readonly message: string;
  /** The replica that the rollout waited for, and its container, which may be gone by now. */
  readonly replica?: number;
  readonly containerId?: string;
  readonly containerName?: string;
  readonly nodeName?: string;
  /** Of its last failing health check, or else of its last end: the exit code, and what was written last. */
  readonly exitCode?: number;
  readonly output?: string;
  /** The last lines of the container's own log, where `output` is that of its health check. */
  readonly log?: string;
  /** There was output, or a log, that could not be cleared of secret values. */
  readonly isWithheld?: true;
  /** The revision that was brought back. */
  readonly rolledBackTo?: number;
}

/** How a canary ended. */
export interface CanaryOutcome {
  readonly revision: number;
  readonly outcome: 'promoted' | 'aborted';
  readonly at: string;
  readonly message: string;
}

/** The canary of a deployment as its status shows it. */
export interface CanaryStatus {
  /** `starting`: it was not healthy yet; `holding`: its hold runs, or an order is awaited; `failed`: it waits for an order. */
  readonly state: 'starting' | 'holding' | 'failed';
  readonly revision: number;
  /** The replicas that run the new template, and how many there are to be. */
  readonly slots: readonly number[];
  readonly wanted: number;
  readonly since: string;
  /** Since when all of them have been available, and when the rest follows by itself. */
  readonly healthySince?: string;
  readonly promotesAt?: string;
  /** The new template against the old one. */
  readonly compared: { readonly canary: CanarySide; readonly others: CanarySide };
  readonly waitsFor: string;
}

/** What is compared of one side of a canary. */
export interface CanarySide {
  readonly replicas: number;
  readonly ready: number;
  readonly unhealthy: number;
  readonly restarts: number;
  /** The different codes with which containers of it ended last. */
  readonly exitCodes: readonly number[];
}

/** The scaling of a deployment as its status shows it. */
export interface ScalingStatus {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly targetCpuPercent?: number;
  readonly targetMemoryPercent?: number;
  /** How many replicas are wanted. */
  readonly replicas: number;
  /** What was used when that was decided, in percent of what is requested. */
  readonly cpuPercent?: number;
  readonly memoryPercent?: number;
  readonly reason?: Reason;
  readonly message: string;
}

/** An event that announced a status. */
export interface AnnouncedEvent {
  readonly type: string;
  readonly reason: string;
  readonly id: string;
  /** When it was last written. */
  readonly at: string;
}

/** The limits that rules measure against. Set by configuration, never by a tenant. */
export interface DeploymentLimits extends WorkloadLimits {
  readonly maxReplicas: number;
  readonly retriesFloor: number;
  readonly timeoutFloor: string;
  /** Host ports of the platform itself. */
  readonly reservedHostPorts: readonly PortRange[];
}

/** What the API has looked up before the rules are asked. */
export type DeploymentFacts = WorkloadFacts;

/** All that the rules of a deployment may look at, beside the field itself. */
export interface DeploymentContext extends WorkloadContext {
  readonly kind: 'Deployment';
  readonly limits: DeploymentLimits;
}
