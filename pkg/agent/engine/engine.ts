import type { HealthCheck, Port } from '../../../crds/deployment/index.js';
import type { ContainerHealth } from '../../../crds/report/index.js';
import { Fault } from '../../fault/index.js';
import type { Secret } from '../../secrets/index.js';

/** Whom a container belongs to: stored as labels, and enough to adopt it after a restart of the agent. */
export interface Ownership {
  readonly nodeId: string;
  readonly tenant: string;
  readonly deployment: string;
  readonly deploymentUid: string;
  readonly replica: string;
  readonly slot: number;
  readonly generation: number;
  readonly templateHash: string;
  /** The restore epoch in which it was created, where there was one. */
  readonly restoreEpoch?: number;
}

/** What a container may use at most. */
export interface ContainerLimits {
  /** In thousandths of a core. */
  readonly cpu?: number;
  /** In bytes; no swap beside it. */
  readonly memory?: number;
  /** Processes; the driver's own limit stays where it is lower. */
  readonly pids?: number;
}

/** Everything a driver needs to create one container. Security settings are fixed by the driver. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Further variables, whose values are revealed to the engine only. */
  readonly secrets?: ReadonlyMap<string, Secret>;
  readonly healthCheck?: HealthCheck;
  readonly ports: readonly Port[];
  /** `user` or `user:group`; absent: the image's own. */
  readonly user?: string;
  readonly readOnlyRootFilesystem?: boolean;
  readonly limits?: ContainerLimits;
  /** Bridge network of the tenant; created when missing. */
  readonly network: string;
  /** DNS name on that network. */
  readonly alias: string;
  readonly owner: Ownership;
}

/** The observed state of a container that carries our labels. */
export interface ContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly owner: Ownership;
  readonly state: 'created' | 'running' | 'exited';
  readonly health: ContainerHealth;
  readonly exitCode: number | undefined;
}

export interface EngineFacts {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly cpu: number;
  readonly memory: number;
}

/** A container of this replica changed. It carries no state, because only a list or an inspection is authoritative. */
export interface EngineEvent {
  readonly replica: string;
}

/** `everything`: events may have been missed, so all containers must be listed. */
export type OnEngineEvent = (event: EngineEvent | 'everything') => void;

export interface ContainerLogOptions {
  readonly follow: boolean;
  /** How many of the last lines to begin with. */
  readonly tail: number;
}

export interface LogChunk {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Buffer;
}

/** What an engine knows of its machine that an operator should see. The words are those of Kubernetes. */
export interface EngineCondition {
  readonly type: 'LinkLocalBlocked';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/**
 * A container engine.
 *
 * Every method throws `EngineUnreachableFault` when the engine does not respond: that means *unknown*, never
 * "no containers". All methods are idempotent: creating a container that exists for the same replica returns it;
 * starting a running one, stopping a stopped one and removing a removed one succeed.
 */
export interface Engine {
  facts(): Promise<EngineFacts>;
  /** As of the last call of `facts` or `create`. */
  conditions(): readonly EngineCondition[];
  list(nodeId: string): Promise<readonly ContainerStatus[]>;
  /** Ids of all nodes whose containers for this tenant are on the engine. */
  listNodeIds(tenant: string): Promise<readonly string[]>;
  inspect(id: string): Promise<ContainerStatus | undefined>;
  hasImage(image: string): Promise<boolean>;
  /** Makes sure that the image is present. Throws `ImagePullFault` when the registry does not deliver it. */
  pull(image: string): Promise<void>;
  /** Removes every image that no container uses. */
  pruneImages(): Promise<void>;
  create(spec: ContainerSpec): Promise<string>;
  start(id: string): Promise<void>;
  stop(id: string, graceSeconds: number): Promise<void>;
  remove(id: string): Promise<void>;
  /** Reports events of this node's containers until aborted; `everything` after each (re)connection. */
  events(nodeId: string, onEvent: OnEngineEvent, signal: AbortSignal): Promise<void>;
  logs(id: string, options: ContainerLogOptions, signal: AbortSignal): AsyncIterable<LogChunk>;
  close(): Promise<void>;
}

/** What to do about the container that already has the name. */
export type NameClaim = 'adopt' | 'replace' | 'conflict';

/**
 * Decides by the labels of the holder: the same replica is adopted, an older replica of the same slot is replaced, and
 * everything else, a newer generation of the slot included, is left alone.
 */
export function claimName(holder: Ownership | undefined, wanted: Ownership): NameClaim {
  if (!holder || holder.nodeId !== wanted.nodeId || holder.tenant !== wanted.tenant) return 'conflict';
  if (holder.replica === wanted.replica) return 'adopt';
  if (holder.deployment !== wanted.deployment || holder.slot !== wanted.slot) return 'conflict';

  const newer = holder.deploymentUid === wanted.deploymentUid && holder.generation > wanted.generation;
  return newer ? 'conflict' : 'replace';
}

/** The engine did not respond, or the connection broke: its state is unknown. */
export class EngineUnreachableFault extends Fault {
  readonly retriable = true;
}

export class EngineRefusedFault extends Fault {
  readonly retriable = true;
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The engine offers no supported version of its API. */
export class EngineUnsupportedFault extends Fault {
  readonly retriable = false;
}

/** A container cannot be created because its image is not present: pull it first. */
export class ImageMissingFault extends Fault {
  readonly retriable = true;

  constructor(image: string) {
    super(`the image ${image} is not present on this node`);
  }
}

/**
 * Why an image cannot be had, in fixed words. What the engine says is not repeated: it may quote what another host
 * responded, and a tenant can choose that host.
 */
const PULL_FAILURES = {
  not_found: 'the registry has no such image, or hides it: push it, or check its name and tag',
  denied: 'the registry denied access to the image',
  unreachable: 'the registry could not be reached',
  timed_out: 'the registry did not respond in time',
  untrusted: 'the registry does not use TLS, or its certificate is not trusted',
  rate_limited: 'the registry refused more requests for now',
  disk_full: 'the disk of the node is full',
  wrong_platform: 'the image does not exist for the platform of the node',
  unusable: 'the registry responded with something that is not an image',
  not_listed: 'the registry of the image is not one that the operator allows',
  address: 'the registry of the image has a private or link-local address, which the operator has not allowed',
  host: 'the image names no valid registry, or is the id of an image on the node',
  failed: 'the container engine could not pull the image; the log of the engine says why',
} as const;

export type PullFailure = keyof typeof PULL_FAILURES;

/** The image is not allowed here, or the registry does not deliver it. */
export class ImagePullFault extends Fault {
  readonly retriable = true;
  readonly failure: PullFailure;

  constructor(failure: PullFailure, options?: ErrorOptions) {
    super(PULL_FAILURES[failure], options);
    this.failure = failure;
  }

  /** Whether the operator's policy forbids the image. */
  get isRefused(): boolean {
    return this.failure === 'not_listed' || this.failure === 'address' || this.failure === 'host';
  }
}

/** The name is taken by something that must not be removed. */
export class NameConflictFault extends Fault {
  readonly retriable = true;

  constructor(name: string) {
    super(
      `the name ${name} is already used on this engine by something that Mooring did not create for this replica: remove or rename it`,
    );
  }
}
