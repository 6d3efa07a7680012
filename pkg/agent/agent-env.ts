import type { Capacity } from '../../crds/node/index.js';
import type { Clock, Random } from '../clock/index.js';
import type { AgentLink } from '../link/index.js';
import type { Logger } from '../log/index.js';
import type { Disk } from './disk.js';
import type { Engine } from './engine/index.js';

/** Everything impure that an agent may touch. */
export interface AgentEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly engine: Engine;
  readonly link: AgentLink;
  readonly log: Logger;
  readonly disk: Disk;
}

/** Time between SIGTERM and SIGKILL, where nobody says otherwise. */
export const STOP_GRACE_SECONDS = 10;

/** What an agent is told by its own configuration. */
export interface AgentOptions {
  readonly name: string;
  readonly version: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Bytes that containers may fill. cpu and memory are the engine's own figures. */
  readonly diskBytes?: number;
  readonly controlPlane?: boolean;
  /** Needed once, to enrol; afterwards the node's key is enough. */
  readonly joinToken?: string;
  /** Goes before the names of containers, where several agents share one engine. */
  readonly namePrefix?: string;
  readonly stopGraceSeconds?: number;
  readonly heartbeatMs?: number;
  /** How often everything is looked at, though nothing has been announced. */
  readonly relistMs?: number;
  /** Containers worked on at the same time. */
  readonly concurrency?: number;
}

/** What the node has to offer. */
export async function readCapacity(engine: Engine, { diskBytes = 0 }: AgentOptions): Promise<Capacity> {
  const { cpu, memory } = await engine.facts();
  return { cpu, memory, disk: diskBytes };
}
