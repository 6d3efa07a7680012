import { createControllers } from '../../controllers/index.js';
import { createScheduler } from '../../controllers/scheduler/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { toContainerTemplate, type Replica, computeTemplateHash } from '../../crds/replica/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { encode, type Entry, MemoryStore, type Put, type Store, value, WatchCache } from '../../pkg/store/index.js';

const AT = '2030-01-01T00:00:00.000Z';
const COUNTRIES = ['DE', 'FR', 'NL', 'US'];
const WRITTEN_AT_ONCE = 50;

/** Where the records of a bench are in etcd. */
export const PREFIX = '/bench/';

/** No quota: a bench measures what placement costs, not where it stops. */
export const policy: PlacementPolicy = { ...defaultPolicy, quotas: {} };

/** How many of what. */
export interface Size {
  readonly tenants: number;
  readonly nodesEach: number;
  readonly deploymentsEach: number;
  readonly replicas: number;
}

const metadata = (tenant: string, uid: string) => ({
  tenant,
  uid,
  generation: 1,
  createdAt: AT,
  updatedAt: AT,
  specHash: 'h',
});

const tenantName = (position: number) => `tenant-${position}`;

/** A node in one of four countries and one of eight zones; three of the countries are in the EU. */
export function makeNodePuts(tenant: string, position: number, cpu = 16_000): readonly Put[] {
  const name = `machine-${String(position).padStart(6, '0')}`;
  const id = `node_${tenant}-${position}`;
  const node: StoredNode = {
    metadata: metadata(tenant, id),
    id,
    name,
    labels: { 'mooring.io/country': COUNTRIES[position % 4]!, zone: `z${position % 8}`, disk: 'ssd' },
    capacity: { cpu, memory: 64 * 2 ** 30, disk: 0 },
    publicKey: '',
    controlPlane: false,
    agentVersion: '0',
  };
  const status: NodeStatus = { id, status: 'ready', reason: 'heartbeat_received', since: AT };
  return [
    { key: keys.node(tenant, name), bytes: encode(node) },
    { key: keys.nodeStatus(tenant, name), bytes: encode(status) },
  ];
}

/** A deployment that asks for residency, a label and anti-affinity, with all its replicas waiting. */
export function makeDeploymentPuts(tenant: string, name: string, change: Partial<StoredDeployment>): readonly Put[] {
  const deployment: StoredDeployment = {
    metadata: metadata(tenant, `dep_${tenant}-${name}`),
    kind: 'Deployment',
    name,
    image: 'registry.test/web:1',
    replicas: 1,
    secretsVersion: 0,
    resources: { cpu: '100m', memory: '64Mi' },
    placement: {
      residency: { region: 'eu', blockedCountries: ['US'] },
      constraints: [{ key: 'disk', operator: 'In', values: ['ssd'] }],
      antiAffinity: { self: true, deployments: [], topologyKey: 'node' },
    },
    ...change,
  };
  const replicas = Array.from({ length: deployment.replicas }, (_, slot): Put => {
    const replica: Replica = {
      uid: `r-${tenant}-${name}-${slot}`,
      tenant,
      deployment: name,
      deploymentUid: deployment.metadata.uid,
      slot,
      generation: 1,
      templateHash: computeTemplateHash(deployment),
      template: toContainerTemplate(deployment),
      createdAt: AT,
    };
    return { key: keys.replica(tenant, name, slot), bytes: encode(replica) };
  });
  return [{ key: keys.deployment(tenant, name), bytes: encode(deployment) }, ...replicas];
}

/** Writes records that are not there yet, in as few transactions as etcd takes: writing them is not what is measured. */
export async function storeAll(store: Store, puts: readonly Put[]): Promise<void> {
  for (let from = 0; from < puts.length; from += WRITTEN_AT_ONCE) {
    const some = puts.slice(from, from + WRITTEN_AT_ONCE);
    await store.commit({ guards: some.map(({ key }) => ({ key, at: 0 })), puts: some, deletes: [] });
  }
}

/** What it took to place everything. */
export interface Placing {
  readonly placed: number;
  readonly cpuSeconds: number;
  readonly seconds: number;
  /** Memory that the nodes, the replicas and all that is kept of them take. */
  readonly heapMebibytes: number;
}

/** Places every replica in a fleet of the given size with the real loop, on a store in memory. */
export async function placeAll(size: Size): Promise<Placing> {
  const before = process.memoryUsage().heapUsed;
  const store = new MemoryStore({ clock: systemClock });
  for (let tenant = 0; tenant < size.tenants; tenant++) {
    for (let node = 0; node < size.nodesEach; node++) await storeAll(store, makeNodePuts(tenantName(tenant), node));
    for (let number = 0; number < size.deploymentsEach; number++) {
      await storeAll(store, makeDeploymentPuts(tenantName(tenant), `web-${number}`, { replicas: size.replicas }));
    }
  }
  const wanted = size.tenants * size.deploymentsEach * size.replicas;
  const begun = process.cpuUsage();
  const begunAt = performance.now();
  const placed = await runUntil(store, wanted);
  const { user, system } = process.cpuUsage(begun);
  const seconds = (performance.now() - begunAt) / 1_000;
  const heapMebibytes = (process.memoryUsage().heapUsed - before) / 2 ** 20;
  return { placed, cpuSeconds: (user + system) / 1e6, seconds, heapMebibytes };
}

async function runUntil(store: MemoryStore, wanted: number): Promise<number> {
  let placed = 0;
  const loop = startScheduler(store, (entry, all) => {
    if (entry.key.startsWith(ranges.replicas) && value<Replica>(entry).nodeId !== undefined && ++placed === wanted)
      all();
  });
  await loop.seen;
  await loop.stop();
  return placed;
}

/** A fleet in which one deployment fits nowhere, each node with figures of its own, once the scheduler has said so. */
export async function createExplainedState(nodes: number) {
  const store = new MemoryStore({ clock: systemClock });
  for (let node = 0; node < nodes; node++) await storeAll(store, makeNodePuts('tenant-0', node, 1_000 + node));
  const puts = makeDeploymentPuts('tenant-0', 'huge', { replicas: 3, resources: { cpu: '64', memory: '512Gi' } });
  const loop = startScheduler(store, (entry, all) => {
    if (entry.key.startsWith(ranges.schedulings)) all();
  });
  await loop.cache.ready;
  const begun = performance.now();
  await storeAll(store, puts);
  await loop.seen;
  const toldMs = performance.now() - begun;
  const deployment = value<StoredDeployment>(loop.cache.get(keys.deployment('tenant-0', 'huge'))!);
  return { cache: loop.cache, deployment, toldMs, stop: () => void loop.stop() };
}

/** The scheduler at work. `seen` resolves when `look` has called what it is given, for a change that it was shown. */
export function startScheduler(store: Store, look: (entry: Entry, all: () => void) => void) {
  const stop = new AbortController();
  const cache = new WatchCache({ store, clock: systemClock, log: silentLogger });
  const controllers = createControllers({
    store,
    cache,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    holder: 'bench',
    leaderLeaseSeconds: 30,
    eventRetentionDays: 7,
    loops: [createScheduler(policy)],
  });
  const seen = new Promise<void>(resolve => {
    cache.subscribe(({ entry }) => entry && look(entry, resolve));
  });
  void cache.run(stop.signal);
  const ran = controllers.run(stop.signal);
  return {
    cache,
    seen,
    stop: () => {
      stop.abort();
      return ran;
    },
  };
}
