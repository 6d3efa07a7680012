import { seededRandom } from '../clock/index.js';
import type { LocalLink } from '../link/local-link.testing.js';
import { DispatcherLab } from '../link/dispatcher-lab.testing.js';
import { silentLogger } from '../log/index.js';
import type { HostResolver } from '../registry/index.js';
import { Agent } from './agent.js';
import { createMemoryDisk } from './disk.js';
import type { FencerDeadline } from './fencer/index.js';
import type { BoundFolders, VolumeDriver, VolumeRoom } from './volumes/index.js';
import { type EngineOperation, SimulatedEngine, type SimulatedEngineOptions } from './engine/index.js';

/** A second machine with the identity of the first. */
interface MachineCopy {
  readonly engine: SimulatedEngine;
  readonly link: LocalLink;
  readonly stop: () => void;
}

/** One node: an engine and a disk that outlive its agents, a link that can be cut. */
export class NodeLab extends DispatcherLab {
  readonly engine: SimulatedEngine;
  readonly files = new Map<string, string>();
  readonly disk = createMemoryDisk(this.files);
  readonly wire = this.link();
  failure: SimulatedEngineOptions['failure'] | undefined;
  resolve: HostResolver | undefined;
  containerDiskBytes: number | undefined;
  volumes: VolumeDriver | undefined;
  room: VolumeRoom | undefined;
  binds: BoundFolders | undefined;
  /** What the fencer keeps; it outlives the agents. */
  armed: readonly FencerDeadline[] = [];
  latencyMs: (operation: EngineOperation) => number = () => 0;
  #agent: { readonly end: AbortController; readonly ended: Promise<void> } | undefined;
  #starts = 0;

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
      random: seededRandom(3 + this.#starts++),
      engine,
      link,
      disk,
      log: silentLogger,
      volumes: this.volumes,
      room: this.room,
      binds: this.binds,
      fencer: { arm: async (deadlines: readonly FencerDeadline[]) => void (this.armed = deadlines) },
      ...(this.resolve && { resolve: this.resolve }),
    };
    const end = new AbortController();
    const { containerDiskBytes } = this;
    const limits = containerDiskBytes === undefined ? {} : { containerDiskBytes };
    const ended = new Agent(env, { name: 'n1', version: 'test', joinToken: 'join', labels, ...limits }).run(end.signal);
    this.#agent = { end, ended };
    await this.clock.pass(100);
  }

  /** A copy of the machine, as its state folder is now: with an agent, an engine and a link of its own. */
  async startCopy(): Promise<MachineCopy> {
    const { clock } = this;
    const random = seededRandom(100 + this.#starts++);
    const engine = new SimulatedEngine({ clock, random });
    const link = this.link();
    const disk = createMemoryDisk(new Map(this.files));
    const env = { clock, random, engine, link, disk, log: silentLogger, volumes: this.volumes };
    const end = new AbortController();
    void new Agent(env, { name: 'n1', version: 'test' }).run(end.signal);
    await clock.pass(100);
    return { engine, link, stop: () => end.abort() };
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
