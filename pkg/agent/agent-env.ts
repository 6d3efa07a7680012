import type { PortRange } from '../../crds/grammar/index.js';
import type { AdvertisedEngine, Capacity } from '../../crds/node/index.js';
import type { Clock, Random } from '../clock/index.js';
import type { AgentLink } from '../link/index.js';
import type { Logger } from '../log/index.js';
import type { HostResolver } from '../registry/index.js';
import type { Tracer } from '../trace/index.js';
import type { Disk } from './disk.js';
import type { Engine } from './engine/index.js';
import type { Fencer } from './fencer/index.js';
import type { ProcessTable } from './process-table.js';
import type { Peers } from './replication/index.js';
import type { BoundFolders, VolumeDriver, VolumeRoom } from './volumes/index.js';

/** The outside world of an agent: everything that is not a pure function. */
export interface AgentEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly engine: Engine;
  readonly link: AgentLink;
  readonly log: Logger;
  readonly disk: Disk;
  /** Keeps the bytes of volumes. Without it the node provides none that are on disk. */
  readonly volumes?: VolumeDriver | undefined;
  /** What there is for volumes now. Without it the free space of the start is reported. */
  readonly room?: Pick<VolumeRoom, 'bytes' | 'run'> | undefined;
  /** Finds volumes of type bind. Without it the node provides none. */
  readonly binds?: BoundFolders | undefined;
  /** The agents that copies of volumes are exchanged with. Without it none are. */
  readonly peers?: Peers | undefined;
  /** Whether an earlier run of the agent has ended. Without it only a run that stopped by itself has, for certain. */
  readonly processes?: ProcessTable | undefined;
  /** Milliseconds since the boot of the machine, suspended or not. Without it those of `clock`. */
  readonly uptimeMs?: (() => number) | undefined;
  /** Stops what writes to replicated volumes where this agent does not. Without it no copy takes over by itself. */
  readonly fencer?: Fencer | undefined;
  /** Without it nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Finds the addresses of registries before a pull. Without it they are not checked: nothing real is contacted. */
  readonly resolve?: HostResolver;
}

/** Default time between SIGTERM and SIGKILL. */
export const STOP_GRACE_SECONDS = 10;

export interface AgentOptions {
  readonly name: string;
  readonly version: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Disk space for containers, in bytes. cpu and memory come from the engine. */
  readonly diskBytes?: number;
  /** What a container may write to its own file system, in bytes. Default: it is not bounded. */
  readonly containerDiskBytes?: number;
  readonly controlPlane?: boolean;
  /** Needed once, to enrol; afterwards the node's key is enough. */
  readonly joinToken?: string;
  /** Prefix of container names, for agents that share one engine. */
  readonly namePrefix?: string;
  readonly stopGraceSeconds?: number;
  /** Host ports that no container gets. */
  readonly reservedHostPorts?: readonly PortRange[];
  readonly heartbeatMs?: number;
  /** How often all containers are listed again, even without an event. */
  readonly relistMs?: number;
  /** How often it is measured what each container uses. Default: never. */
  readonly usageMs?: number;
  /** Replicas worked on at the same time. */
  readonly concurrency?: number;
}

/** The capacity of the machine and the name and version of its engine, as the engine reports them. */
export async function readEngine(
  engine: Engine,
  { diskBytes = 0 }: AgentOptions,
): Promise<{ readonly capacity: Capacity; readonly engine: AdvertisedEngine }> {
  const { cpu, memory, name, version } = await engine.facts();
  return {
    capacity: { cpu, memory, disk: diskBytes },
    engine: { name: toEngineWord(name), version: toEngineWord(version) },
  };
}

const ENGINE_WORD = /^[0-9A-Za-z.+~_ -]{1,64}$/;

/** Whether servers accept a name or a version of an engine. */
export function isEngineWord(text: unknown): boolean {
  return typeof text === 'string' && ENGINE_WORD.test(text);
}

/** A name or a version as servers accept it: one that they refuse would cost the node every heartbeat. */
function toEngineWord(text: string): string {
  const word = text.replace(/[^0-9A-Za-z.+~_ -]/g, '-').slice(0, 64);
  return word === '' ? 'unknown' : word;
}
