import { allLoops, controllersIn } from '../../controllers/index.js';
import { keys } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { Agent, memoryDisk, SimulatedEngine } from '../../pkg/agent/index.js';
import { EventLeases, EventWriter } from '../../pkg/events/index.js';
import { defineDeskIndexes, NodeDesk, type NodeIdentity } from '../../pkg/link/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import {
  calm,
  type Incarnation,
  type Reconnecting,
  SimulatedStore,
  type Weather,
  World,
} from '../../pkg/simulation/index.js';
import { encode, MemoryStore, type Store, WatchCache } from '../../pkg/store/index.js';
import { remoteEngine } from './remote-engine.js';
import { type DeskHolder, RemoteLink } from './remote-link.js';
import { Seat } from './seat.js';

/** A signal that nobody aborts: a simulated process does not stop, it dies. */
const forever = () => new AbortController().signal;

/** An API server that is up, with the store as it reaches it. */
export interface ApiServer extends DeskHolder {
  readonly store: Store;
}

/** One machine: its engine and its disk outlive its agents. */
export interface Machine {
  readonly node: NodeIdentity;
  readonly engine: SimulatedEngine;
  readonly seat: Seat;
  /** What its agent advertises from its next start on. */
  readonly labels: Record<string, string>;
}

/** What may be put in the place of the product's own parts, to see that it is found out. */
export interface Variant {
  /** The loops of one controllers process, which reaches the store as given. */
  readonly loops?: (store: Store) => readonly Loop[];
  readonly reconnecting?: Reconnecting;
}

/** Short, so that a storm is long enough for nodes to be lost. */
export const NODE_GRACE_SECONDS = 8;

/** The label by which a machine says where it is. */
export const COUNTRY = 'mooring.io/country';

export const TENANTS = ['tenant-a', 'tenant-b'] as const;

const NODES: readonly NodeIdentity[] = [
  { tenant: TENANTS[0], id: 'node_a1', name: 'a1' },
  { tenant: TENANTS[0], id: 'node_a2', name: 'a2' },
  { tenant: TENANTS[1], id: 'node_b1', name: 'b1' },
];

/** The whole system in one world: two API servers, two controllers processes, three machines of two tenants. */
export class Cluster {
  readonly world: World;
  readonly weather: Weather = { ...calm };
  /** The store itself, as nobody in the world can reach it: at once and without fail. */
  readonly server: MemoryStore;
  readonly machines: readonly Machine[];
  readonly seats: readonly Seat[];
  readonly #variant: Variant;
  readonly #servers = new Map<string, ApiServer>();

  constructor(seed: number, variant: Variant = {}) {
    this.world = new World(seed);
    this.server = new MemoryStore({ clock: this.world.clock });
    this.#variant = variant;
    this.machines = NODES.map(node => this.#machine(node));
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

  /** Enrols the machines and starts everything. */
  async begin(): Promise<void> {
    for (const { node } of this.machines) {
      const key = keys.node(node.tenant, node.name);
      await this.server.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(record(node)) }], deletes: [] });
    }
    this.start();
  }

  /** Starts every process that does not run. */
  start(): void {
    for (const seat of this.seats) seat.start();
  }

  #seat(name: string, boot: (life: Incarnation) => void): Seat {
    return new Seat(name, this.world, this.weather, boot);
  }

  #store(life: Incarnation): Store {
    return new SimulatedStore(life, this.server, this.#variant.reconnecting);
  }

  #bootApi(life: Incarnation): void {
    const { clock, random } = life;
    const store = this.#store(life);
    const cache = new WatchCache({ store, clock, log: silentLogger });
    defineDeskIndexes(cache);
    const events = new EventWriter(new EventLeases(store, clock, 7), clock, random);
    const desk = new NodeDesk({ store, cache, events, clock, log: silentLogger, failedAfterSeconds: 15 });
    void cache.run(forever());
    void cache.ready.then(() => this.#servers.set(life.name, { life, desk, store }));
  }

  #bootControllers(life: Incarnation): void {
    const { clock, random } = life;
    const store = this.#store(life);
    const cache = new WatchCache({ store, clock, log: silentLogger });
    const loops = this.#variant.loops?.(store) ?? allLoops(undefined, NODE_GRACE_SECONDS);
    const controllers = controllersIn({
      store,
      cache,
      clock,
      random,
      log: silentLogger,
      holder: `${life.name}-${random.bytes(3).toString('hex')}`,
      leaderLeaseSeconds: 9,
      eventRetentionDays: 7,
      loops,
    });
    void cache.run(forever());
    void controllers.run(forever());
  }

  #machine(node: NodeIdentity): Machine {
    const { world } = this;
    const engine = new SimulatedEngine({
      clock: world.clock,
      random: world.random,
      latencyMs: () => world.between(0, this.weather.delayMs * 5),
    });
    const disk = memoryDisk();
    const labels = { [COUNTRY]: 'DE' };
    const seat = this.#seat(`agent-${node.name}`, life => {
      const link = new RemoteLink(life, node, () => this.servers);
      const { clock, random } = life;
      const env = { clock, random, link, disk, engine: remoteEngine(life, engine), log: silentLogger };
      const options = { name: node.name, version: '0', joinToken: 'join', labels: { ...labels } };
      void new Agent(env, options).run(forever());
    });
    return { node, engine, seat, labels };
  }
}

function record({ tenant, id, name }: NodeIdentity): StoredNode {
  const at = '2030-01-01T00:00:00.000Z';
  return {
    metadata: { tenant, uid: id, generation: 1, createdAt: at, updatedAt: at, specHash: '' },
    id,
    name,
    labels: { [COUNTRY]: 'DE' },
    capacity: { cpu: 8000, memory: 16 * 2 ** 30, disk: 0 },
    publicKey: '',
    controlPlane: false,
    agentVersion: '0',
  };
}
