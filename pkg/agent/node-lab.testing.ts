import { seededRandom } from '../clock/index.js';
import { DispatcherLab } from '../link/dispatcher-lab.testing.js';
import { silentLogger } from '../log/index.js';
import type { HostResolver } from '../registry/index.js';
import { Agent } from './agent.js';
import { createMemoryDisk } from './disk.js';
import { type EngineOperation, SimulatedEngine, type SimulatedEngineOptions } from './engine/index.js';

/** One node: an engine and a disk that outlive its agents, a link that can be cut. */
export class NodeLab extends DispatcherLab {
  readonly engine: SimulatedEngine;
  readonly disk = createMemoryDisk();
  readonly wire = this.link();
  failure: SimulatedEngineOptions['failure'] | undefined;
  resolve: HostResolver | undefined;
  latencyMs: (operation: EngineOperation) => number = () => 0;
  #agent: { readonly end: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(options: Partial<SimulatedEngineOptions> = {}) {
    super();
    this.engine = new SimulatedEngine({
      clock: this.clock,
      random: seededRandom(7),
      failure: (operation, when) => this.failure?.(operation, when),
      latencyMs: operation => this.latencyMs(operation),
      ...options,
    });
  }

  async startAgent(labels: Readonly<Record<string, string>> = {}): Promise<void> {
    const { clock, engine, disk, wire: link } = this;
    const env = {
      clock,
      random: seededRandom(3),
      engine,
      link,
      disk,
      log: silentLogger,
      ...(this.resolve && { resolve: this.resolve }),
    };
    const end = new AbortController();
    const ended = new Agent(env, { name: 'n1', version: 'test', joinToken: 'join', labels }).run(end.signal);
    this.#agent = { end, ended };
    await this.clock.pass(100);
  }

  async stopAgent(): Promise<void> {
    this.#agent?.end.abort();
    await this.clock.pass(10_000);
    await this.#agent?.ended;
  }

  /** Name and state of every container. */
  get running(): readonly string[] {
    return this.engine.containers.map(({ name, state }) => `${name} ${state}`).toSorted();
  }
}
