import { asError } from '../../fault/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { ContainerStatus } from '../engine/index.js';

/**
 * Which containers of a node have written more to their own file system than the machine allows.
 *
 * Engines can bound a writable layer on few file systems only, so it is measured from time to time, as the kubelet does: a container
 * may be above the limit until then.
 */
export class DiskLimit {
  readonly #env: Pick<AgentEnv, 'engine' | 'log'>;
  readonly #nodeId: string;
  /** In bytes; undefined: there is no limit, and nothing is measured. */
  readonly limit: number | undefined;
  #over: ReadonlyMap<string, number> = new Map();

  constructor(env: Pick<AgentEnv, 'engine' | 'log'>, nodeId: string, limit: number | undefined) {
    this.#env = env;
    this.#nodeId = nodeId;
    this.limit = limit;
  }

  /** How much a container had written when it was last measured, where that is too much. */
  findExcess({ id }: ContainerStatus): number | undefined {
    return this.#over.get(id);
  }

  /** What is reported of a container that has written too much. `fate` is what was done with it. */
  describe(container: ContainerStatus, fate: string): string | undefined {
    const bytes = this.findExcess(container);
    if (bytes === undefined || this.limit === undefined) return undefined;
    return `the container wrote ${toMebibytes(bytes)} MiB to its own file system, of which this node allows ${toMebibytes(this.limit)} MiB; it was ${fate}: have the program write less`;
  }

  /** Measures all containers. True when one of them is above the limit. */
  async measure(): Promise<boolean> {
    const { engine, log } = this.#env;
    const { limit } = this;
    if (limit === undefined) return false;
    try {
      const sizes = await engine.measureDisk(this.#nodeId);
      this.#over = new Map([...sizes].filter(([, bytes]) => bytes > limit));
    } catch (thrown) {
      log.warn('could not measure what containers have written to their disk', { error: asError(thrown) });
    }
    return this.#over.size > 0;
  }
}

function toMebibytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
