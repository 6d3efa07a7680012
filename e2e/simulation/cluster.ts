import { createLoops, createControllers, createSecretLoops } from '../../controllers/index.js';
import { cacheScope, keys } from '../../crds/keys/index.js';
import type { NodeNameRecord } from '../../crds/node/index.js';
import type { StoredTenant, StoredToken } from '../../crds/tenant/index.js';
import { Agent, type ProcessTable, SimulatedEngine } from '../../pkg/agent/index.js';
import { loadNodeKey } from '../../pkg/agent/membership/membership.js';
import { Keyring } from '../../pkg/auth/index.js';
import { loadSettings } from '../../pkg/config/index.js';
import { EventLeases, EventWriter } from '../../pkg/events/index.js';
import { AgentDispatcher, Tickets } from '../../pkg/link/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { createMetrics } from '../../pkg/metrics/index.js';
import {
  calm,
  createSimulatedVolumes,
  type FaultProfile,
  PeerNetwork,
  type SimProcess,
  SimulatedStore,
  SimWorld,
  VolumeDisk,
} from '../../dev/simulation/index.js';
import { encode, MemoryStore, type Store, value, WatchCache } from '../../pkg/store/index.js';
import { createAttachedDisk } from './attached-disk.js';
import { type Answer, type ApiServer, Front, nobodyAnswered, type Request } from './front.js';
import { WallClocks } from './clocks.js';
import { hastenSchedules } from './haste.js';
import { createRemoteEngine } from './remote-engine.js';
import { RemoteLink } from './remote-link.js';
import { SimulatedLoad, USAGE_MS } from './load.js';
import { Machine } from './machine.js';
import { chooseMix, type Mix } from './mix.js';
import { type EndAgent, Seat } from './seat.js';
import { Signatures } from './signatures.js';
import type { Pace, Variant } from './variant.js';
import { Vault } from './vault.js';

/** A signal that is never aborted: of a simulated process that does not stop, but dies. */
const forever = () => new AbortController().signal;

/** Short, so that a storm is long enough for nodes to be lost. */
export const NODE_GRACE_SECONDS = 8;

/** No request is on its way for longer. */
export const UNDER_WAY_MS = 6_000;

export const TENANTS = ['aaaaaaaa-0000-4000-8000-000000000000', 'bbbbbbbb-0000-4000-8000-000000000000'] as const;

/** What the names of images end with whose containers are unhealthy. */
export const BAD_IMAGE = ':bad';

/** Every machine, with who enrols it first. Where volumes are copied one tenant has four: of two copies one is fresher, and a third can take their place. */
const MACHINES: Readonly<Record<string, string>> = { a1: TENANTS[0], a2: TENANTS[0], b1: TENANTS[1] };
const COPYING_MACHINES: Readonly<Record<string, string>> = { ...MACHINES, a3: TENANTS[0], a4: TENANTS[0] };
/** Where drivers are mixed, the one whose driver reads nothing of what the others send. */
const ODD_ONE = 'a4';
const PEER_PORT = 7071;
/** How soon an agent is started again that has failed. */
const FAILED_MS = 2_000;

const AT = '2030-01-01T00:00:00.000Z';
const { settings } = loadSettings({ environment: {} });
const keyring = new Keyring([Buffer.alloc(32, 2)]);

/** The whole system in one world: two API servers, two controllers processes, three to five machines of two tenants. */
export class SimCluster {
  readonly world: SimWorld;
  readonly faults: FaultProfile = { ...calm };
  /** The store itself, without delay and without failures, which no simulated process can use. */
  readonly server: MemoryStore;
  readonly vault = new Vault();
  readonly signatures = new Signatures();
  readonly machines: readonly Machine[];
  readonly seats: readonly Seat[];
  readonly pace: Pace;
  readonly mix: Mix;
  /** What lies between machines that copy volumes. */
  readonly peers = new PeerNetwork();
  /** What containers use. */
  readonly load: SimulatedLoad;
  /** How often agents measure that. */
  readonly usageMs: number | undefined;
  /** Told of every ticket for which secrets were handed out. */
  handedOut: (ticket: string) => void = () => undefined;
  /** What must be so in the end beside what must in every world. */
  expectMore: () => void = () => undefined;
  readonly #variant: Variant;
  readonly #clocks: WallClocks;
  readonly #servers = new Map<string, ApiServer>();
  readonly #lives = new Map<Machine, readonly SimProcess[]>();
  /** Of all agents that ever ran: Node keeps what they wait for, and with it the world, until these are aborted. */
  readonly #agents: AbortController[] = [];
  #tokens = 0;

  constructor(seed: number, variant: Variant = {}) {
    this.world = new SimWorld(seed);
    this.load = new SimulatedLoad(this.world);
    this.server = new MemoryStore({ clock: this.world.clock });
    this.#variant = variant;
    this.pace = variant.pace ?? {};
    this.mix = chooseMix(seed, this.pace.mix);
    this.#clocks = new WallClocks(seed, this.world);
    this.usageMs = this.mix.scaled ? USAGE_MS : undefined;
    this.machines = Object.keys(this.#owners).map(name => this.#machine(name));
    this.seats = [
      ...['api-1', 'api-2'].map(name => this.#seat(name, life => this.#bootApi(life))),
      ...['controllers-1', 'controllers-2'].map(name => this.#seat(name, life => this.#bootControllers(life))),
      ...this.machines.map(({ seat }) => seat),
    ];
  }

  /** API servers that answer now. */
  get servers(): readonly ApiServer[] {
    return [...this.#servers.values()].filter(({ life }) => life.alive);
  }

  /** Starts everything; the machines enrol. */
  async begin(): Promise<void> {
    for (const id of TENANTS) {
      const tenant: StoredTenant = { id, name: id.slice(0, 1), createdAt: AT, platform: false };
      await this.put(keys.tenant(id), tenant);
    }
    for (const machine of this.machines) {
      machine.joinToken = await this.joinToken(this.#owners[machine.name]!);
    }
    this.start();
  }

  /** Lets go of the world, in which nothing happens any more. */
  end(): void {
    for (const agent of this.#agents) agent.abort();
  }

  /** Starts every process that does not run. */
  start(): void {
    for (const seat of this.seats) seat.start();
  }

  /** Has one of the servers answer. One that dies over it leaves its caller without an answer. */
  ask(request: Request): Promise<Answer> {
    const { servers, world } = this;
    if (servers.length === 0) return Promise.resolve(nobodyAnswered);
    const { life, front } = world.pick(servers);
    return new Promise(resolve => {
      const forget = life.onEnd(() => resolve({ told: 'unknown' }));
      life.later(0, 'is asked', () => void front.ask(request).then(resolve).finally(forget));
    });
  }

  /** A join token of a tenant, as the holder of it would have it. */
  async joinToken(tenant: string): Promise<string> {
    const id = `join${++this.#tokens}`;
    const times = { createdAt: AT, expiresAt: '2031-01-01T00:00:00.000Z' };
    const token: StoredToken = { id, kind: 'join', digest: '', tenant, description: '', createdBy: '', ...times };
    await this.put(keys.token(id), token);
    return JSON.stringify(token);
  }

  /** Who has the machine of a name. */
  async ownerOf(name: string): Promise<string | undefined> {
    const entry = await this.server.get(keys.nodeName(name));
    return entry && value<NodeNameRecord>(entry).claims[0]?.tenant;
  }

  /** Writes whatever stood there. */
  async put(key: string, document: unknown): Promise<void> {
    const at = (await this.server.get(key))?.revision ?? 0;
    await this.server.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
  }

  get #owners(): Readonly<Record<string, string>> {
    return this.mix.hasCopies ? COPYING_MACHINES : MACHINES;
  }

  #seat(name: string, boot: (life: SimProcess) => void): Seat {
    return new Seat(name, this.world, { faults: this.faults, boot });
  }

  #store(life: SimProcess): Store {
    return new SimulatedStore(life, this.server, this.#variant.reconnecting);
  }

  #bootApi(life: SimProcess): void {
    const { random } = life;
    const clock = this.#clocks.take(life);
    const reached = this.#store(life);
    const store = this.#variant.apiStore?.(reached) ?? reached;
    const cache = new WatchCache({ store, clock, log: silentLogger, ...cacheScope });
    const stored = this.vault.reachedOver(store, random);
    const secrets = this.#variant.apiSecrets?.(stored) ?? stored;
    const metrics = createMetrics({ processMetrics: false });
    const env = { store, cache, clock, random, log: silentLogger };
    const apiCache = this.#variant.apiCache?.(cache) ?? cache;
    const front = new Front({ ...env, cache: apiCache, settings, metrics, keyring, secrets }, this.signatures);
    const dispatcher = new AgentDispatcher({
      ...env,
      events: new EventWriter(new EventLeases(store, clock, 7), clock, random),
      keyring,
      failedAfterSeconds: 15,
      delivery: { secrets, tickets: new Tickets({ keyring, clock, random }) },
    });
    this.#clocks.follow(life, clock, { store: reached, cache });
    void cache.ready.then(() => this.#servers.set(life.name, { life, dispatcher, front }));
  }

  #bootControllers(life: SimProcess): void {
    const { random } = life;
    const clock = this.#clocks.take(life);
    const store = this.#store(life);
    const cache = new WatchCache({ store, clock, log: silentLogger, ...cacheScope });
    const stored = this.vault.reachedOver(store, random);
    const secrets = this.#variant.loopSecrets?.(stored) ?? stored;
    const loops = [...createLoops(undefined, { nodeGraceSeconds: NODE_GRACE_SECONDS }), ...createSecretLoops(secrets)];
    const controllers = createControllers({
      store,
      cache,
      clock,
      random,
      log: silentLogger,
      holder: `${life.name}-${random.bytes(3).toString('hex')}`,
      leaderLeaseSeconds: 15,
      eventRetentionDays: 7,
      loops: hastenSchedules(this.#variant.loops?.(loops, store) ?? loops),
    });
    this.#clocks.follow(life, clock, { store, cache });
    void controllers.run(forever());
  }

  /** A copy of a machine: its state folder and an engine without containers. It is not among the machines. */
  copy({ name, labels, files, disk }: Machine): Machine {
    const copy = this.#machine(name, `copy-${name}`, new Map(files), new VolumeDisk(disk.held));
    Object.assign(copy.labels, labels);
    return copy;
  }

  /** Which agents run on a machine, as each of them sees it. */
  #listProcesses(life: SimProcess, machine: Machine): ProcessTable {
    const lives = this.#lives.get(machine) ?? [];
    this.#lives.set(machine, [...lives, life]);
    return {
      boot: machine.boot,
      self: String(lives.length),
      isRunning: name => this.#lives.get(machine)?.[Number(name)]?.alive ?? false,
    };
  }

  #machine(name: string, title = `agent-${name}`, files = new Map<string, string>(), disk = new VolumeDisk()): Machine {
    const { world } = this;
    const engine = new SimulatedEngine({
      clock: this.#clocks.read(name, world.clock),
      random: world.random,
      latencyMs: () => world.between(0, this.faults.delayMs * 5),
      usage: () => this.load.read(),
      health: image => (image.endsWith(BAD_IMAGE) ? 'unhealthy' : 'healthy'),
    });
    const boot = (life: SimProcess, machine: Machine) => this.#bootAgent(life, machine);
    const driver = this.mix.hasOddDriver && name === ODD_ONE ? 'directory' : 'btrfs';
    return new Machine(world, { name, title, engine, files, disk, driver, faults: this.faults, boot });
  }

  #bootAgent(life: SimProcess, machine: Machine): EndAgent {
    const { name, engine, labels, joinToken, mounts } = machine;
    const { random } = life;
    const clock = this.#clocks.read(name, life.clock);
    const disk = createAttachedDisk(machine, life);
    const processes = this.#listProcesses(life, machine);
    const link = this.#variant.link?.(new RemoteLink(life, this)) ?? new RemoteLink(life, this);
    const reached = createRemoteEngine(life, engine, (id, order) => {
      this.vault.delivered(id, order);
      // One that is found under its name and adopted has what it was made with.
      if (order.mounts && !mounts.has(id)) mounts.set(id, order.mounts);
    });
    const volumes = createSimulatedVolumes(life, machine.disk, machine.driver);
    const altered = this.#variant.engine?.(reached, this) ?? reached;
    const address = `${name}:${PEER_PORT}`;
    let key: ReturnType<typeof loadNodeKey> | undefined;
    const publicKey = async () => (await (key ??= loadNodeKey(disk, random))).publicKey;
    const peers = this.mix.hasCopies ? { peers: this.peers.reachedBy(life, { address, publicKey }) } : {};
    const around = { clock, random, link, disk, processes, log: silentLogger };
    const parts = { ...around, volumes, engine: altered, fencer: machine.fencer.reachedBy(life), ...peers };
    const { usageMs } = this;
    const options = { name, version: '0', joinToken, labels: { ...labels }, ...(usageMs && { usageMs }) };
    const end = new AbortController();
    this.#agents.push(end);
    // One that cannot go on ends, and its service manager starts it again.
    const fail = () => void (life.alive && machine.seat.restart(FAILED_MS));
    const ended = new Agent(this.#variant.agent?.(parts) ?? parts, options).run(end.signal).catch(fail);
    return () => {
      end.abort();
      return ended;
    };
  }
}
