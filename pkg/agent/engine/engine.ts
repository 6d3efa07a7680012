import type { NodeFeature } from '../../../crds/node/index.js';
import type { Reason } from '../../../crds/reasons/index.js';
import type { HealthCheck, Port } from '../../../crds/deployment/index.js';
import type { ContainerHealth, FailedCheck } from '../../../crds/report/index.js';
import { Fault } from '../../fault/index.js';
import type { Secret } from '../../secrets/index.js';
import type { ContainerLimits, ContainerMount, OnPullProgress } from './container-parts.js';
import type { RedactedOutput } from './redact.js';

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
  /** The volumes that it writes to, where there are any. */
  readonly writes?: readonly string[];
  /** The versions of the credentials that it was given, where there are any. By vault path. */
  readonly secretVersions?: Readonly<Record<string, number>>;
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
  readonly requests?: Pick<ContainerLimits, 'cpu' | 'memory'>; // for an engine that places containers itself
  readonly stopGraceSeconds?: number; // where it is declared, for an engine that has to know it before a stop
  readonly mounts?: readonly ContainerMount[];
  /** Bridge network of the tenant; created when missing. */
  readonly network: string;
  /** Networks to join in its place; they must exist. */
  readonly networks?: readonly string[];
  /** Every one of `networks` is internal: names are resolved inside only. */
  readonly isInternal?: boolean;
  /** DNS name on each of its networks. */
  readonly alias: string;
  readonly owner: Ownership;
}

/** A network that a tenant has asked for. */
export interface NetworkSpec {
  /** What the engine calls it: no other tenant has one of that name. */
  readonly name: string;
  /** What the tenant calls it. */
  readonly network: string;
  readonly tenant: string;
  readonly nodeId: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether it leads nowhere but to its own containers. */
  readonly internal: boolean;
}

/** A login for one registry, for one pull. */
export interface ImageLogin {
  readonly username: string;
  readonly password: Secret;
}

/** The observed state of a container that carries our labels. */
export interface ContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly owner: Ownership;
  readonly state: 'created' | 'running' | 'exited';
  readonly health: ContainerHealth;
  readonly exitCode: number | undefined;
  /** When it was last started; absent when it never was. */
  readonly startedAt?: string;
  /** Set when it has exited. */
  readonly endedAt?: string;
  /** The kernel killed it, because it reached its memory limit. */
  readonly oomKilled?: true;
  /** The user that it runs as: its image's, or the one that was asked for; empty: root. */
  readonly user?: string;
  /** Its last health check, when that one failed. The output holds no value of its secrets. */
  readonly failedCheck?: FailedCheck;
  /** Networks that it is to be on, and is not. */
  readonly lacksNetworks?: readonly string[];
}

/** What a container has used until now, and uses. */
export interface ContainerUsage {
  readonly cpuNanos: number; // of cpu time since its start: it counts up
  readonly memory: number; // in bytes, without what the kernel can take back at once
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
  /** Only the last entries, so many. Default: all that the engine keeps. */
  readonly tail?: number;
  /** Only entries of this time or later, in the form of `LogEntry.at`. */
  readonly since?: string;
}

/** One entry of a container's log: a line with its line break, or a part of a very long one. */
export interface LogEntry {
  readonly stream: 'stdout' | 'stderr';
  /** When the engine received it, in seconds since 1970: `1763239738.000000042`. The parts of one line have the same. */
  readonly at: string;
  readonly bytes: Buffer;
}

/** What an engine knows of its machine that an operator should see. The words are those of Kubernetes. */
export interface EngineCondition {
  readonly type: 'LinkLocalBlocked';
  readonly status: 'True' | 'False';
  readonly reason: Reason;
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
  /** What it cannot do: its node is given nothing that needs it. Absent: it can do everything. */
  readonly lacks?: readonly NodeFeature[] | undefined;
  readonly startsOnce?: true | undefined; // a container that has ended is removed, and a new one is made
  /** Resolves when the engine answers, and throws soon when it does not. */
  ping(): Promise<void>;
  facts(): Promise<EngineFacts>;
  /** As of the last call of `facts` or `create`. */
  conditions(): readonly EngineCondition[];
  list(nodeId: string): Promise<readonly ContainerStatus[]>;
  /** Ids of all nodes whose containers or networks for this tenant are on the engine. */
  listNodeIds(tenant: string): Promise<readonly string[]>;
  inspect(id: string): Promise<ContainerStatus | undefined>;
  /** How many bytes each container of a node has written to its own file system, by id. The engine may have to count files. */
  measureDisk(nodeId: string): Promise<ReadonlyMap<string, number>>;
  readUsage(id: string): Promise<ContainerUsage | undefined>; // undefined when it does not run
  /** The id that the image has on the engine now; undefined when it is not present. */
  findImage(image: string): Promise<string | undefined>;
  /**
   * Gets the image from its registry, which is contacted also when the image is present: that shows whether it may be had.
   * Without a login, the engine's own for that registry is used, if it has one. Throws `ImagePullFault` when the registry does not
   * deliver it. `onProgress` is called whenever the engine says how far it is; `nodeId` is the node that pulls.
   */
  pull(image: string, login?: ImageLogin, onProgress?: OnPullProgress, nodeId?: string): Promise<void>;
  /** Removes every image that no container uses. */
  pruneImages(): Promise<void>;
  /** Creates a network unless it exists. One that is internal has no way out when this resolves. */
  ensureNetwork(spec: NetworkSpec): Promise<void>;
  /** Removes the networks of a node that are not kept. Answers how many a container still holds. */
  removeNetworks(nodeId: string, isKept: (name: string) => boolean): Promise<number>;
  /** Attaches a container to networks, under its own DNS name. */
  joinNetworks(container: ContainerStatus, networks: readonly string[]): Promise<void>;
  create(spec: ContainerSpec): Promise<string>;
  start(id: string): Promise<void>;
  stop(id: string, graceSeconds: number): Promise<void>;
  /**
   * Runs a command in a running container, as its user, and waits for its end, at most so long. Answers its exit code; undefined
   * when it has not ended, or could not be run. Its output is dropped.
   */
  exec(id: string, command: readonly string[], withinMs: number): Promise<number | undefined>;
  remove(id: string): Promise<void>;
  /** Reports events of this node's containers until aborted; `everything` after each (re)connection. */
  events(nodeId: string, onEvent: OnEngineEvent, signal: AbortSignal): Promise<void>;
  /** The last lines of the log, without the values of the container's secrets, which the driver reads for that and drops. */
  readLastLines(id: string): Promise<RedactedOutput>;
  /** What the container has printed until now, in the order in which the engine received it. Also of one that has ended. */
  logs(id: string, options: ContainerLogOptions, signal: AbortSignal): AsyncIterable<LogEntry>;
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
  login_required:
    'the registry requires a login: store host, username and password of one as a secret of the tenant at',
  credential_refused: 'the registry refuses the login of the tenant: write the right one to the secret',
  unreachable: 'the registry could not be reached: check its name, and that the node reaches it',
  timed_out: 'the registry did not respond in time: check it, and the network of the node',
  untrusted: 'the registry does not use TLS, or its certificate is not trusted: have the engine of the node trust it',
  rate_limited: 'the registry refused more requests for now: wait, or pull with a login',
  disk_full: 'the disk of the node is full: free space on it',
  wrong_platform: 'the image does not exist for the platform of the node: push one for it, or name another node',
  unusable: 'the registry responded with something that is not an image: push the image again',
  not_listed: 'the registry of the image is not one that the operator allows: use another, or have it allowed',
  address: 'the registry of the image has a private or link-local address, which the operator has not allowed',
  host: 'the image names no valid registry, or is the id of an image on the node',
  failed: 'the container engine could not pull the image; the log of the engine says why',
} as const;

export type PullFailure = keyof typeof PULL_FAILURES;

/** The image is not allowed here, or the registry does not deliver it. */
export class ImagePullFault extends Fault {
  readonly retriable = true;
  readonly failure: PullFailure;

  /** `secret`: the path of the tenant's login, where the failure is about that. */
  constructor(failure: PullFailure, { secret, ...options }: ErrorOptions & { readonly secret?: string } = {}) {
    super(`${PULL_FAILURES[failure]}${secret === undefined ? '' : ` ${secret}`}`, options);
    this.failure = failure;
  }
}

/** An internal network cannot be kept closed on this machine. */
export class InternalNetworkFault extends Fault {
  readonly retriable = true;

  constructor() {
    super(
      'the agent cannot write the iptables rules that keep an internal network closed: run it as root beside the engine',
    );
  }
}

/** The name is taken by something that must not be removed. */
export class NameConflictFault extends Fault {
  readonly retriable = true;

  constructor(name: string, kind: 'container' | 'network' = 'container') {
    const foreign = 'something that Mooring did not create for this replica: remove or rename it';
    const twin = `another network: remove it ("docker network ls --filter name=${name}" shows which)`;
    super(`the name ${name} is already used on this engine by ${kind === 'container' ? foreign : twin}`);
  }
}
