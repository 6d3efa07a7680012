import type { HealthCheck, Port } from '../../../crds/deployment/index.js';
import type { Secret } from '../../secrets/index.js';
import type { ContainerHealth } from '../../../crds/report/index.js';

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
export interface ContainerOrder {
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
export interface SeenContainer {
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
  list(nodeId: string): Promise<readonly SeenContainer[]>;
  inspect(id: string): Promise<SeenContainer | undefined>;
  /** Whether the image is present. */
  holds(image: string): Promise<boolean>;
  /** Makes sure that the image is present. Throws `ImagePullFault` when the registry will not give it. */
  pull(image: string): Promise<void>;
  create(order: ContainerOrder): Promise<string>;
  start(id: string): Promise<void>;
  stop(id: string, graceSeconds: number): Promise<void>;
  remove(id: string): Promise<void>;
  /** Calls back for every event of this node's containers until aborted; after a break, once for `everything`. */
  events(nodeId: string, seen: (event: EngineEvent | 'everything') => void, signal: AbortSignal): Promise<void>;
  logs(id: string, options: { follow: boolean; tail: number }, signal: AbortSignal): AsyncIterable<LogChunk>;
  close(): Promise<void>;
}
