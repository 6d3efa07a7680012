import type { ContainerHealth, FailedCheck } from '../../../crds/report/index.js';
import { sleep, untilAborted } from '../../clock/index.js';
import {
  claimName,
  type ContainerSpec,
  type ContainerStatus,
  type ContainerUsage,
  type Engine,
  type EngineCondition,
  type EngineFacts,
  EngineRefusedFault,
  EngineUnreachableFault,
  type ImageLogin,
  ImageMissingFault,
  ImagePullFault,
  type LogEntry,
  type ContainerLogOptions,
  NameConflictFault,
  type NetworkSpec,
  type OnEngineEvent,
} from './engine.js';
import type { RedactedOutput } from './redact.js';
import { SimulatedNetworks } from './simulated-networks.js';
import type { EngineListener, EngineOperation, SimulatedEngineOptions } from './simulated-options.js';

interface SimulatedContainer {
  status: ContainerStatus;
  readonly image: string;
  readonly hasHealthCheck: boolean;
  readonly createdAt: string;
  /** What it wrote at its end. */
  output?: string;
  /** Counts the starts, so that a timer of an earlier run is recognised. */
  runs: number;
  readonly printed: LogEntry[];
}

/** An engine in memory, for simulations and load tests: it outlives its agents, as a real one does. Delays use the injected clock. */
export class SimulatedEngine implements Engine {
  readonly #options: SimulatedEngineOptions;
  readonly lacks: Engine['lacks'];
  readonly startsOnce: Engine['startsOnce'];
  readonly #containers = new Map<string, SimulatedContainer>();
  readonly networks = new SimulatedNetworks();
  readonly #images = new Set<string>();
  readonly #listeners = new Set<EngineListener>();
  /** Bytes that each container has written, by id. */
  readonly written = new Map<string, number>();
  changes = 0;
  startsAndEnds = 0;
  readonly #logTime = () => (this.#options.clock.now() / 1000).toFixed(9).padStart(20, '0');
  #reachable = true;

  constructor(options: SimulatedEngineOptions) {
    this.#options = options;
    ({ lacks: this.lacks, startsOnce: this.startsOnce } = options);
  }

  get containers(): readonly ContainerStatus[] {
    return [...this.#containers.values()].map(container => this.networks.complete(container.status));
  }

  get isReachable(): boolean {
    return this.#reachable;
  }

  /** Makes the engine unreachable or reachable. Its containers keep running. */
  setReachable(reachable: boolean): void {
    this.#reachable = reachable;
    if (reachable) for (const { onEvent } of this.#listeners) onEvent('everything');
  }

  /** Restarts the engine: every container stops, as with a daemon without live-restore. */
  restart(): void {
    for (const container of this.#containers.values()) this.#exit(container, 137);
    for (const { onEvent } of this.#listeners) onEvent('everything');
  }

  /** Ends a container as its program or the kernel would. */
  crash(id: string, exitCode: number, { oomKilled = false, output = '' } = {}): void {
    const container = this.#find(id);
    this.#exit(container, exitCode);
    if (oomKilled) container.status = { ...container.status, oomKilled };
    container.output = output;
    this.#notify(container);
  }

  setHealth(id: string, health: ContainerHealth, failedCheck?: FailedCheck): void {
    const container = this.#find(id);
    const { failedCheck: _, ...status } = container.status;
    container.status = { ...status, health, ...(failedCheck && { failedCheck }) };
    this.#notify(container);
  }

  ping = (): Promise<void> => this.#call('facts', () => undefined);

  facts(): Promise<EngineFacts> {
    const { cpu = 8000, memory = 16 * 2 ** 30 } = this.#options;
    return this.#call('facts', () => ({ name: 'simulated', version: '1', apiVersion: '1', cpu, memory }));
  }

  conditions = (): readonly EngineCondition[] => [];

  list(nodeId: string): Promise<readonly ContainerStatus[]> {
    return this.#call('list', () => this.containers.filter(({ owner }) => owner.nodeId === nodeId));
  }

  listNodeIds(tenant: string): Promise<readonly string[]> {
    const owners = () => this.containers.map(({ owner }) => owner).filter(owner => owner.tenant === tenant);
    const places = () => this.networks.specs.filter(spec => spec.tenant === tenant);
    return this.#call('list', () => [...new Set([...owners(), ...places()].map(({ nodeId }) => nodeId))]);
  }

  inspect(id: string): Promise<ContainerStatus | undefined> {
    return this.#call('inspect', () => this.networks.complete(this.#containers.get(id)?.status));
  }

  findImage(image: string): Promise<string | undefined> {
    return this.#call('inspect', () => (this.#images.has(image) ? `id of ${image}` : undefined));
  }

  pull(image: string, login?: ImageLogin): Promise<void> {
    return this.#call('pull', () => {
      const failure = this.#options.refusePull?.(image, login);
      const isAbsent = !(this.#options.registryHasImage?.(image) ?? true);
      if (failure || isAbsent) throw new ImagePullFault(failure ?? 'not_found');
      if (!this.#images.has(image)) this.changes++;
      this.#images.add(image);
    });
  }

  pruneImages(): Promise<void> {
    return this.#call('remove', () => {
      const used = new Set([...this.#containers.values()].map(({ image }) => image));
      for (const image of this.#images) if (!used.has(image)) this.#images.delete(image);
    });
  }

  ensureNetwork(spec: NetworkSpec): Promise<void> {
    return this.#call('create', () => this.networks.ensure(spec));
  }

  removeNetworks(nodeId: string, isKept: (name: string) => boolean): Promise<number> {
    return this.#call('remove', () => this.networks.removeOthers(nodeId, isKept));
  }

  joinNetworks({ id }: ContainerStatus, networks: readonly string[]): Promise<void> {
    return this.#call('create', () => this.networks.join(id, networks));
  }

  create(spec: ContainerSpec): Promise<string> {
    return this.#call('create', () => {
      if (!this.#images.has(spec.image)) throw new ImageMissingFault(spec.image);
      const holder = [...this.#containers.values()].find(({ status }) => status.name === spec.name);
      const claim = holder && claimName(holder.status.owner, spec.owner);
      if (holder && claim === 'adopt') return holder.status.id;
      if (claim === 'conflict') throw new NameConflictFault(spec.name);
      if (holder) this.#drop(holder);

      const id = this.#options.random.bytes(32).toString('hex');
      this.networks.attach(id, spec.networks);
      this.changes++;
      const { name, image, owner, healthCheck, user = '' } = spec;
      const createdAt = this.#logTime();
      const status = { id, name, owner, state: 'created', health: 'none', exitCode: undefined, user } as const;
      const hasHealthCheck = healthCheck !== undefined;
      const container: SimulatedContainer = { status, image, hasHealthCheck, createdAt, runs: 0, printed: [] };
      this.#containers.set(id, container);
      this.#notify(container);
      return id;
    });
  }

  start(id: string): Promise<void> {
    return this.#call('start', () => {
      const container = this.#find(id);
      if (container.status.state === 'running') return;
      if (this.startsOnce && container.runs > 0) throw new EngineRefusedFault(409, 'it has ended');
      this.changes++;
      this.startsAndEnds++;
      const run = ++container.runs;
      const health = container.hasHealthCheck ? 'starting' : 'none';
      const { endedAt: _at, oomKilled: _oom, failedCheck: _check, ...status } = container.status;
      container.status = { ...status, state: 'running', health, exitCode: undefined, startedAt: this.#now() };
      this.#notify(container);
      if (!container.hasHealthCheck) return;
      this.#options.clock.after(this.#options.healthyAfterMs ?? 1000, () => {
        if (container.runs !== run || container.status.health !== 'starting') return;
        container.status = { ...container.status, health: this.#options.health?.(container.image) ?? 'healthy' };
        this.#notify(container);
      });
    });
  }

  stop(id: string): Promise<void> {
    return this.#call('stop', () => {
      const container = this.#containers.get(id);
      if (container?.status.state !== 'running') return;
      this.changes++;
      this.#exit(container, 143);
      this.#notify(container);
    });
  }

  exec(id: string): Promise<number | undefined> {
    return this.#call('stop', () => (this.#containers.get(id)?.status.state === 'running' ? 0 : undefined));
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

  measureDisk(): Promise<ReadonlyMap<string, number>> {
    return this.#call('list', () => new Map(this.written));
  }

  readUsage(id: string): Promise<ContainerUsage | undefined> {
    return this.#call('inspect', () => {
      const { status } = this.#containers.get(id) ?? {};
      return status?.state === 'running' ? this.#options.usage?.(status) : undefined;
    });
  }

  readLastLines(id: string): Promise<RedactedOutput> {
    const read = ({ output = '', printed }: SimulatedContainer) => {
      const text = output || printed.map(({ bytes }) => bytes.toString()).join('');
      return text ? { output: text } : {};
    };
    return this.#call('logs', () => read(this.#find(id)));
  }

  async *logs(id: string, { tail, since = '' }: ContainerLogOptions): AsyncGenerator<LogEntry> {
    const { status, createdAt, printed } = await this.#call('logs', () => this.#find(id));
    const first = { stream: 'stdout', at: createdAt, bytes: Buffer.from(`${status.name} is simulated\n`) } as const;
    const entries = [first, ...printed].filter(({ at }) => at >= since);
    yield* tail === undefined ? entries : entries.slice(Math.max(0, entries.length - tail));
  }

  /** Lets a container print a line. */
  print(id: string, text: string, stream: LogEntry['stream'] = 'stdout'): void {
    this.#find(id).printed.push({ stream, at: this.#logTime(), bytes: Buffer.from(text) });
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
    this.changes++;
    this.#exit(container, 137);
    this.#containers.delete(container.status.id);
    this.networks.leave(container.status.id);
    this.#notify(container);
  }

  #notify({ status: { owner } }: SimulatedContainer): void {
    if (!this.#reachable) return;
    for (const { nodeId, onEvent } of this.#listeners) if (nodeId === owner.nodeId) onEvent({ replica: owner.replica });
  }

  /** Does nothing to a container that does not run. */
  #exit(container: SimulatedContainer, exitCode: number): void {
    if (container.status.state !== 'running') return;
    this.startsAndEnds++;
    container.status = { ...container.status, state: 'exited', exitCode, endedAt: this.#now() };
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
