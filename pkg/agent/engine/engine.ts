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

/**
 * A container engine.
 *
 * Every method throws `EngineUnreachableFault` when the engine does not respond: that means *unknown*, never
 * "no containers". All methods are idempotent: creating a container that exists for the same replica returns it;
 * starting a running one, stopping a stopped one and removing a removed one succeed.
 */
export interface Engine {
  facts(): Promise<EngineFacts>;
  list(nodeId: string): Promise<readonly ContainerStatus[]>;
  inspect(id: string): Promise<ContainerStatus | undefined>;
  hasImage(image: string): Promise<boolean>;
  /** Makes sure that the image is present. Throws `ImagePullFault` when the registry does not deliver it. */
  pull(image: string): Promise<void>;
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

export class ImagePullFault extends Fault {
  readonly retriable = true;
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
