import type { PortRange } from '../../crds/grammar/index.js';
import type { Capacity } from '../../crds/node/index.js';
import type { Clock, Random } from '../clock/index.js';
import type { AgentLink } from '../link/index.js';
import type { Logger } from '../log/index.js';
import type { HostResolver } from '../registry/index.js';
import type { Disk } from './disk.js';
import type { Engine } from './engine/index.js';

/** The outside world of an agent: everything that is not a pure function. */
export interface AgentEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly engine: Engine;
  readonly link: AgentLink;
  readonly log: Logger;
  readonly disk: Disk;
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
  /** Replicas worked on at the same time. */
  readonly concurrency?: number;
}

export async function readCapacity(engine: Engine, { diskBytes = 0 }: AgentOptions): Promise<Capacity> {
  const { cpu, memory } = await engine.facts();
  return { cpu, memory, disk: diskBytes };
}
