import type { DeploymentStatus, StoredDeployment } from '../crds/deployment/index.js';
import type { StoredEvent } from '../crds/event/index.js';
import { cacheScope, keys, ranges } from '../crds/keys/index.js';
import type { NodeOrders, StoredNode } from '../crds/node/index.js';
import { isResolved, type Replica } from '../crds/replica/index.js';
import type { Report } from '../crds/report/index.js';
import { seededRandom } from '../pkg/clock/index.js';
import { ManualClock } from '../pkg/clock/manual-clock.testing.js';
import type { PlacementPolicy } from '../pkg/fleet/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import {
  EmbeddedSecretStore,
  SecretKeyring,
  type SecretStore,
  SecretStoreUnavailableFault,
} from '../pkg/secrets/index.js';
import { type Change, encode, MemoryStore, type Store, value, type Verdict, WatchCache } from '../pkg/store/index.js';
import { type ControllersEnv, createControllers } from './index.js';

export const TENANT = 't1';
export const AT = '2030-01-01T00:00:00.000Z';

export const makeMetadata = (uid: string, generation = 1) => ({
  tenant: TENANT,
  uid,
  generation,
  createdAt: AT,
  updatedAt: AT,
  specHash: 'h',
});

export const makeDeployment = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata: makeMetadata('dep_1'),
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 2,
  secretsVersion: 0,
  ...change,
});

export const node = (name: string, labels: StoredNode['labels']): StoredNode => ({
  metadata: makeMetadata(`node_${name}`),
  id: `node_${name}`,
  name,
  labels,
  capacity: { cpu: 1000, memory: 1024 ** 3, disk: 0 },
  publicKey: '',
  controlPlane: false,
  agentVersion: '0',
});

/** One store, one process of controllers, and agents that do at once what they are told. */
export class TestCluster {
  readonly clock = new ManualClock();
  readonly store = new MemoryStore({ clock: this.clock });
  readonly secrets = openSecretsIn(this.store);
  /** The secrets store does not answer the controllers. */
  secretsAreAway = false;
  readonly metrics = createMetrics({ processMetrics: false });
  readonly #stop = new AbortController();
  agentsWork = true;
  /** What agents say of the health of a deployment's containers. */
  readonly health = new Map<string, Report['health']>();
  /** The same by replica, before what is said of the deployment. */
  healthOf: (replica: Replica) => Report['health'] | undefined = () => undefined;

  constructor() {
    void this.#agents();
  }

  /** `store` is for those that are to meet trouble with it. */
  controllers(
    holder: string,
    policy?: PlacementPolicy,
    store: Store = this.store,
    settings: Partial<Pick<ControllersEnv, 'nodeGraceSeconds' | 'leaderLeaseSeconds' | 'log' | 'clock'>> = {},
  ): AbortController {
    const stop = new AbortController();
    const cache = new WatchCache({ store, clock: this.clock, log: silentLogger, ...cacheScope });
    const controllers = createControllers({
      store,
      cache,
      clock: this.clock,
      random: seededRandom(holder.length),
      log: silentLogger,
      metrics: this.metrics,
      holder,
      leaderLeaseSeconds: 9,
      eventRetentionDays: 7,
      secrets: this.#reachable(openSecretsIn(store)),
      ...(policy && { policy }),
      ...settings,
    });
    void cache.run(stop.signal);
    void controllers.run(stop.signal);
    return stop;
  }

  async put(key: string, document: unknown, lease?: string): Promise<void> {
    const seen = await this.store.get(key);
    await this.store.commit({
      guards: [{ key, at: seen?.revision ?? 0 }],
      puts: [{ key, bytes: encode(document), ...(lease && { lease }) }],
      deletes: [],
    });
  }

  async get<T>(key: string): Promise<T | undefined> {
    const entry = await this.store.get(key);
    return entry && value<T>(entry);
  }

  async all<T>(range: string): Promise<T[]> {
    return (await this.store.list(range)).entries.map(entry => value<T>(entry));
  }

  async enrol(name: string, labels: StoredNode['labels'] = {}): Promise<string> {
    await this.put(keys.node(TENANT, name), node(name, labels));
    const lease = await this.store.grant(30);
    const presence = { id: `node_${name}`, lease: lease.id, since: AT, run: 'f'.repeat(16) };
    await this.put(keys.alive(TENANT, name), presence, lease.id);
    const beat = () => {
      void this.store.keepAlive(lease.id).then(alive => alive && this.clock.after(10_000, beat));
    };
    beat();
    return lease.id;
  }

  /** The node advertises other labels, as after a restart of its agent. */
  relabel(name: string, labels: StoredNode['labels']): Promise<void> {
    return this.put(keys.node(TENANT, name), node(name, labels));
  }

  /** An administrator decides about a node. */
  order(name: string, orders: NodeOrders): Promise<void> {
    return this.change(name, { orders });
  }

  async change(name: string, change: Partial<StoredNode>): Promise<void> {
    await this.put(keys.node(TENANT, name), { ...(await this.get<StoredNode>(keys.node(TENANT, name))), ...change });
  }

  async erase(key: string): Promise<void> {
    const seen = await this.store.get(key);
    await this.store.commit({ guards: [{ key, at: seen?.revision ?? 0 }], puts: [], deletes: [key] });
  }

  status(name = 'web'): Promise<DeploymentStatus | undefined> {
    return this.get(keys.status(TENANT, name));
  }

  /** The nodes of the replicas that are to stay, by slot. */
  async whereabouts(name = 'web'): Promise<string[]> {
    const replicas = await this.all<Replica>(ranges.replicasOf(TENANT, name));
    return replicas.filter(({ retiringSince }) => !retiringSince).map(({ nodeId = 'nowhere' }) => nodeId);
  }

  async eventTypes(): Promise<string[]> {
    const events = await this.all<StoredEvent>(ranges.events);
    return events.filter(({ subject }) => subject.kind === 'Deployment').map(({ type }) => type);
  }

  /** The events of a type that the controllers have counted in their metrics. */
  async counted(type: string): Promise<number> {
    const lines = (await this.metrics.text()).split('\n');
    const own = lines.filter(line => line.startsWith(`mooring_events_total{type="${type}"`));
    return own.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Has the agent of the replica say how its container is now. */
  report(replica: Replica): Promise<void> {
    const health = this.healthOf(replica) ?? this.health.get(replica.deployment) ?? 'none';
    return this.put(keys.report(TENANT, replica.nodeId!, replica.uid), { ...makeReport(replica), health });
  }

  close(): void {
    this.#stop.abort();
  }

  #reachable(secrets: EmbeddedSecretStore): SecretStore {
    const answer = async <T>(ask: () => Promise<T>): Promise<T> => {
      if (this.secretsAreAway) throw new SecretStoreUnavailableFault('away');
      return ask();
    };
    return {
      read: (path, version) => answer(() => secrets.read(path, version)),
      state: path => answer(() => secrets.state(path)),
      write: (path, write) => answer(() => secrets.write(path, write)),
      promote: (...asked) => answer(() => secrets.promote(...asked)),
      destroy: (...asked) => answer(() => secrets.destroy(...asked)),
      delete: path => answer(() => secrets.delete(path)),
      list: where => answer(() => secrets.list(where)),
      close: () => secrets.close(),
    };
  }

  async #agents(): Promise<void> {
    const cache = new WatchCache({ store: this.store, clock: this.clock, log: silentLogger, ...cacheScope });
    cache.subscribe(({ entry }) => {
      if (!entry?.key.startsWith(ranges.replicas) || !this.agentsWork) return;
      const replica = value<Replica>(entry);
      if (replica.nodeId && (replica.retiringSince || isResolved(replica))) void this.report(replica);
    });
    await cache.run(this.#stop.signal);
  }
}

/** The store behind a double that may answer a commit of the controllers in its place. */
export function interceptCommits(store: Store, meddle: (change: Change) => Promise<Verdict> | undefined): Store {
  return new Proxy(store, {
    get: (target, name: keyof Store) =>
      name === 'commit'
        ? (change: Change) => meddle(change) ?? target.commit(change)
        : (target[name] as () => unknown).bind(target),
  });
}

/** The secrets in a store, opened with the key of every test cluster. */
export function openSecretsIn(store: Store): EmbeddedSecretStore {
  const keyring = new SecretKeyring([Buffer.alloc(32, 1)]);
  return new EmbeddedSecretStore({ store, keyring, random: seededRandom(9), granted: ['deployments'] });
}

export function makeReport(replica: Replica): Report {
  return {
    replica: replica.uid,
    deployment: replica.deployment,
    slot: replica.slot,
    nodeId: replica.nodeId!,
    templateHash: replica.templateHash,
    state: replica.retiringSince ? 'removed' : 'running',
    health: 'none',
    restarts: 0,
    at: AT,
  };
}
