import type { ContainerHealth } from '../../../crds/report/index.js';
import { type Clock, type Random, sleep, untilAborted } from '../../clock/index.js';
import {
  claimName,
  type ContainerSpec,
  type ContainerStatus,
  type Engine,
  type EngineCondition,
  type EngineFacts,
  EngineRefusedFault,
  EngineUnreachableFault,
  ImageMissingFault,
  ImagePullFault,
  type LogChunk,
  type ContainerLogOptions,
  NameConflictFault,
  type OnEngineEvent,
} from './engine.js';

/** The calls of a simulated engine that can be slow or fail. */
export type EngineOperation = 'facts' | 'list' | 'inspect' | 'pull' | 'create' | 'start' | 'stop' | 'remove' | 'logs';

export interface SimulatedEngineOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the registry has an image. Default: every image. */
  readonly registryHasImage?: (image: string) => boolean;
  /** How long a call takes. Default: no time. */
  readonly latencyMs?: (operation: EngineOperation) => number;
  /** The error of a call, before or after it takes effect. Default: none. */
  readonly failure?: (operation: EngineOperation, when: 'before' | 'after') => Error | undefined;
  /** From start to healthy, where a health check is declared. */
  readonly healthyAfterMs?: number;
  readonly cpu?: number;
  readonly memory?: number;
}

interface Listener {
  readonly nodeId: string;
  readonly onEvent: OnEngineEvent;
}

interface SimulatedContainer {
  status: ContainerStatus;
  readonly image: string;
  readonly hasHealthCheck: boolean;
  /** Counts the starts, so that a timer of an earlier run is recognised. */
  runs: number;
}

/**
 * An engine in memory, for simulations and load tests: it outlives the agents that use it, as a real one does.
 *
 * All delays use the injected clock.
 */
export class SimulatedEngine implements Engine {
  readonly #options: SimulatedEngineOptions;
  readonly #containers = new Map<string, SimulatedContainer>();
  readonly #images = new Set<string>();
  readonly #listeners = new Set<Listener>();
  #reachable = true;
  #changes = 0;

  constructor(options: SimulatedEngineOptions) {
    this.#options = options;
  }

  get containers(): readonly ContainerStatus[] {
    return [...this.#containers.values()].map(container => container.status);
  }

  /** How many calls have changed something. */
  get changes(): number {
    return this.#changes;
  }

  /** Makes the engine unreachable or reachable. Its containers keep running. */
  setReachable(reachable: boolean): void {
    this.#reachable = reachable;
    if (reachable) for (const { onEvent } of this.#listeners) onEvent('everything');
  }

  /** Restarts the engine: every container stops, as with a daemon without live-restore. */
  restart(): void {
    for (const container of this.#containers.values()) exit(container, 137);
    for (const { onEvent } of this.#listeners) onEvent('everything');
  }

  crash(id: string, exitCode: number): void {
    const container = this.#find(id);
    exit(container, exitCode);
    this.#notify(container);
  }

  setHealth(id: string, health: ContainerHealth): void {
    const container = this.#find(id);
    container.status = { ...container.status, health };
    this.#notify(container);
  }

  facts(): Promise<EngineFacts> {
    const { cpu = 8000, memory = 16 * 2 ** 30 } = this.#options;
    return this.#call('facts', () => ({ name: 'simulated', version: '1', apiVersion: '1', cpu, memory }));
  }

  conditions(): readonly EngineCondition[] {
    return [];
  }

  list(nodeId: string): Promise<readonly ContainerStatus[]> {
    return this.#call('list', () => this.containers.filter(({ owner }) => owner.nodeId === nodeId));
  }

  listNodeIds(tenant: string): Promise<readonly string[]> {
    const owners = () => this.containers.map(({ owner }) => owner).filter(owner => owner.tenant === tenant);
    return this.#call('list', () => [...new Set(owners().map(({ nodeId }) => nodeId))]);
  }

  inspect(id: string): Promise<ContainerStatus | undefined> {
    return this.#call('inspect', () => this.#containers.get(id)?.status);
  }

  hasImage(image: string): Promise<boolean> {
    return this.#call('inspect', () => this.#images.has(image));
  }

  pull(image: string): Promise<void> {
    return this.#call('pull', () => {
      if (!(this.#options.registryHasImage?.(image) ?? true)) throw new ImagePullFault('not_found');
      if (!this.#images.has(image)) this.#changes++;
      this.#images.add(image);
    });
  }

  pruneImages(): Promise<void> {
    return this.#call('remove', () => {
      const used = new Set([...this.#containers.values()].map(({ image }) => image));
      for (const image of this.#images) if (!used.has(image)) this.#images.delete(image);
    });
  }

  create(spec: ContainerSpec): Promise<string> {
    return this.#call('create', () => {
      if (!this.#images.has(spec.image)) throw new ImageMissingFault(spec.image);
      const holder = [...this.#containers.values()].find(({ status }) => status.name === spec.name);
      const claim = holder && claimName(holder.status.owner, spec.owner);
      if (holder && claim === 'adopt') return holder.status.id;
      if (claim === 'conflict') throw new NameConflictFault(spec.name);
      if (holder) this.#drop(holder);

      this.#changes++;
      const id = this.#options.random.bytes(32).toString('hex');
      const { name, owner, healthCheck } = spec;
      const status = { id, name, owner, state: 'created', health: 'none', exitCode: undefined } as const;
      const container = { status, image: spec.image, hasHealthCheck: healthCheck !== undefined, runs: 0 };
      this.#containers.set(id, container);
      this.#notify(container);
      return id;
    });
  }

  start(id: string): Promise<void> {
    return this.#call('start', () => {
      const container = this.#find(id);
      if (container.status.state === 'running') return;
      this.#changes++;
      const run = ++container.runs;
      const health = container.hasHealthCheck ? 'starting' : 'none';
      container.status = { ...container.status, state: 'running', health, exitCode: undefined };
      this.#notify(container);
      if (!container.hasHealthCheck) return;
      this.#options.clock.after(this.#options.healthyAfterMs ?? 1000, () => {
        if (container.runs !== run || container.status.health !== 'starting') return;
        container.status = { ...container.status, health: 'healthy' };
        this.#notify(container);
      });
    });
  }

  stop(id: string): Promise<void> {
    return this.#call('stop', () => {
      const container = this.#containers.get(id);
      if (container?.status.state !== 'running') return;
      this.#changes++;
      exit(container, 143);
      this.#notify(container);
    });
  }

  remove(id: string): Promise<void> {
    return this.#call('remove', () => {
      const container = this.#containers.get(id);
      if (container) this.#drop(container);
    });
  }

  async events(nodeId: string, onEvent: OnEngineEvent, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const listener = { nodeId, onEvent };
    this.#listeners.add(listener);
    if (this.#reachable) onEvent('everything');
    await untilAborted(signal);
    this.#listeners.delete(listener);
  }

  async *logs(id: string, { follow }: ContainerLogOptions, signal: AbortSignal): AsyncGenerator<LogChunk> {
    const { name } = await this.#call('logs', () => this.#find(id).status);
    yield { stream: 'stdout', bytes: Buffer.from(`${name} is simulated\n`) };
    if (follow) await untilAborted(signal);
  }

  async close(): Promise<void> {}

  async #call<T>(operation: EngineOperation, effect: () => T): Promise<T> {
    const { clock, latencyMs, failure } = this.#options;
    const ms = latencyMs?.(operation) ?? 0;
    if (ms > 0) await sleep(clock, ms);
    if (!this.#reachable) throw new EngineUnreachableFault('the simulated engine is unreachable');

    const before = failure?.(operation, 'before');
    if (before) throw before;
    const result = effect();
    const after = failure?.(operation, 'after');
    if (after) throw after;
    return result;
  }

  #find(id: string): SimulatedContainer {
    const container = this.#containers.get(id);
    if (!container) throw new EngineRefusedFault(404, `no such container: ${id}`);
    return container;
  }

  #drop(container: SimulatedContainer): void {
    this.#changes++;
    exit(container, 137);
    this.#containers.delete(container.status.id);
    this.#notify(container);
  }

  #notify({ status: { owner } }: SimulatedContainer): void {
    if (!this.#reachable) return;
    for (const { nodeId, onEvent } of this.#listeners) if (nodeId === owner.nodeId) onEvent({ replica: owner.replica });
  }
}

/** Does nothing to a container that does not run. */
function exit(container: SimulatedContainer, exitCode: number): void {
  if (container.status.state === 'running') container.status = { ...container.status, state: 'exited', exitCode };
}
