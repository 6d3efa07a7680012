import { type ReplicaUsage, USAGE_MAX } from '../../../crds/node/index.js';
import { sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { ContainerView } from '../container-view.js';

interface CpuReading {
  readonly cpuNanos: number;
  /** By the monotonic clock, in milliseconds. */
  readonly at: number;
}

/** Readings that the engine is asked for at the same time: it takes them once a second, all together. */
const AT_ONCE = 50;

/**
 * What the containers of a node use, measured from time to time. The engine counts cpu time up, so that two readings of a container
 * give its average over the time in between, however long that is.
 */
export class UsageSampler {
  readonly #env: Pick<AgentEnv, 'engine' | 'clock' | 'log'>;
  readonly #view: Pick<ContainerView, 'containers'>;
  #before: ReadonlyMap<string, CpuReading> = new Map();
  #unsent: readonly ReplicaUsage[] | undefined;
  #isFailing = false;

  constructor(env: Pick<AgentEnv, 'engine' | 'clock' | 'log'>, view: Pick<ContainerView, 'containers'>) {
    this.#env = env;
    this.#view = view;
  }

  /** The last figures, until they are sent. */
  get unsent(): readonly ReplicaUsage[] | undefined {
    return this.#unsent;
  }

  markSent(usage: readonly ReplicaUsage[] | undefined): void {
    if (this.#unsent === usage) this.#unsent = undefined;
  }

  /** Measures every so often until aborted. */
  async run(everyMs: number | undefined, signal: AbortSignal): Promise<void> {
    while (everyMs !== undefined && !signal.aborted) {
      await this.sample();
      await sleep(this.#env.clock, everyMs, signal);
    }
  }

  /** Measures every running container once. An engine that does not answer costs the figures, and nothing else. */
  async sample(): Promise<void> {
    const running = this.#view.containers.filter(({ state }) => state === 'running').slice(0, USAGE_MAX);
    const readings = new Map<string, CpuReading>();
    const figures: ReplicaUsage[] = [];
    try {
      for (let next = 0; next < running.length; next += AT_ONCE) {
        await Promise.all(
          running.slice(next, next + AT_ONCE).map(async ({ id, owner }) => {
            const used = await this.#env.engine.readUsage(id);
            if (!used) return;
            const reading = { cpuNanos: used.cpuNanos, at: this.#env.clock.monotonic() };
            readings.set(id, reading);
            const cpu = averageCpu(this.#before.get(id), reading);
            if (cpu !== undefined) figures.push({ replica: owner.replica, cpu, memory: Math.round(used.memory) });
          }),
        );
      }
      this.#isFailing = false;
    } catch (thrown) {
      if (!this.#isFailing) this.#env.log.warn('could not measure what containers use', { error: asError(thrown) });
      this.#isFailing = true;
      return;
    }
    this.#before = readings;
    if (figures.length > 0) this.#unsent = figures;
  }
}

/** Thousandths of a core between two readings. Undefined for a container that has been started in between. */
function averageCpu(before: CpuReading | undefined, { cpuNanos, at }: CpuReading): number | undefined {
  if (!before || cpuNanos < before.cpuNanos || at <= before.at) return undefined;
  return Math.round((cpuNanos - before.cpuNanos) / 1000 / (at - before.at));
}
