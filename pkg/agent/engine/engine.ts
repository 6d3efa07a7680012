import type { HealthCheck, Port } from '../../../crds/deployment/index.js';
import type { ContainerHealth } from '../../../crds/report/index.js';
import { Fault } from '../../fault/index.js';
import type { Secret } from '../../secrets/index.js';

/** Who a container belongs to: written on it as labels, and enough to adopt it after a restart. */
export interface Ownership {
  readonly nodeId: string;
  readonly tenant: string;
  readonly deployment: string;
  readonly deploymentUid: string;
  readonly replica: string;
  readonly slot: number;
  readonly generation: number;
  readonly templateHash: string;
}

/** Everything a driver needs to make one container. Security settings are not here: they are fixed. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Further variables, whose values are seen by nobody but the engine. */
  readonly secrets?: ReadonlyMap<string, Secret>;
  readonly healthCheck?: HealthCheck;
  readonly ports: readonly Port[];
  /** Bridge network of the tenant; made when missing. */
  readonly network: string;
  /** DNS name on that network. */
  readonly alias: string;
  readonly owner: Ownership;
}

/** A container that carries our labels for this node. */
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

/** Something happened to a container of ours: look again. Names no more than that, because the list is the truth. */
export interface EngineEvent {
  readonly replica: string;
}

export interface LogChunk {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Buffer;
}

/**
 * A container engine.
 *
 * Every method throws `EngineUnreachableFault` when the engine cannot be asked: that means *unknown*, never
 * "no containers". All methods may be repeated: creating what exists under the same replica returns it,
 * starting what runs, stopping what stands still and removing what is gone all succeed.
 */
export interface Engine {
  facts(): Promise<EngineFacts>;
  list(nodeId: string): Promise<readonly ContainerStatus[]>;
  inspect(id: string): Promise<ContainerStatus | undefined>;
  /** Whether the image is present. */
  hasImage(image: string): Promise<boolean>;
  /** Makes sure that the image is present. Throws `ImagePullFault` when the registry will not give it. */
  pull(image: string): Promise<void>;
  create(order: ContainerSpec): Promise<string>;
  start(id: string): Promise<void>;
  stop(id: string, graceSeconds: number): Promise<void>;
  remove(id: string): Promise<void>;
  /** Calls back for every event of this node's containers until aborted; after a break, once for `everything`. */
  events(nodeId: string, seen: (event: EngineEvent | 'everything') => void, signal: AbortSignal): Promise<void>;
  logs(id: string, options: { follow: boolean; tail: number }, signal: AbortSignal): AsyncIterable<LogChunk>;
  close(): Promise<void>;
}

/** What to do about the container that already stands under a name. */
export type NameClaim = 'adopt' | 'replace' | 'conflict';

/**
 * Decides by the labels of the holder: our own replica is adopted, a leftover of the same slot gives way, and
 * everything else, a newer generation of the slot included, is not ours to touch.
 */
export function claimName(holder: Ownership | undefined, wanted: Ownership): NameClaim {
  if (!holder || holder.nodeId !== wanted.nodeId || holder.tenant !== wanted.tenant) return 'conflict';
  if (holder.replica === wanted.replica) return 'adopt';
  if (holder.deployment !== wanted.deployment || holder.slot !== wanted.slot) return 'conflict';

  const newer = holder.deploymentUid === wanted.deploymentUid && holder.generation > wanted.generation;
  return newer ? 'conflict' : 'replace';
}

/** The engine could not be asked, or broke off before it had answered: what it holds is unknown. */
export class EngineUnreachableFault extends Fault {
  readonly retriable = true;
}

/** The engine answered, and the answer was no. */
export class EngineRefusedFault extends Fault {
  readonly retriable = true;
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The engine speaks no version of its API that we speak. */
export class EngineUnsupportedFault extends Fault {
  readonly retriable = false;
}

/** A container cannot be made because its image is not there yet: pull it first. */
export class ImageMissingFault extends Fault {
  readonly retriable = true;

  constructor(image: string) {
    super(`the engine does not hold ${image}`);
  }
}

/** The registry would not give the image. */
export class ImagePullFault extends Fault {
  readonly retriable = true;
}

/** Something that is not ours to remove stands under the name. */
export class NameConflictFault extends Fault {
  readonly retriable = true;

  constructor(name: string) {
    super(`the name ${name} is taken on this engine by something that Mooring did not make for this replica`);
  }
}
