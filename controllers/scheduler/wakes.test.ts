import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { defaultPolicy, TenantFleets } from '../../pkg/fleet/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { type Cache, encode, MemoryStore, WatchCache } from '../../pkg/store/index.js';
import { defineIndexes } from '../reading/index.js';
import {
  wakeOnCandidateChange,
  wakeOnReadinessChange,
  wakeOnTenantChange,
  wakeOnAntiAffinityChange,
  wakeOnLoadChange,
  wakeOnRemoval,
  wakeOnNetworkChange,
} from './wakes.js';

const AT = '2030-01-01T00:00:00.000Z';
const metadata = (tenant: string, uid: string) => ({
  tenant,
  uid,
  generation: 1,
  createdAt: AT,
  updatedAt: AT,
  specHash: '',
});

const node = (name: string, change: Partial<StoredNode> = {}): StoredNode => ({
  metadata: metadata('t1', `node_${name}`),
  id: `node_${name}`,
  name,
  labels: {},
  capacity: { cpu: 1000, memory: 2 ** 30, disk: 0 },
  publicKey: '',
  controlPlane: false,
  agentVersion: '0',
  ...change,
});
const status = (name: string, is: NodeStatus['status'], since = AT): NodeStatus => ({
  id: `node_${name}`,
  status: is,
  reason: 'heartbeat_received',
  since,
});
const german = { residency: { country: 'DE' } };
const apartFromWeb = { antiAffinity: { self: false, deployments: ['web'], topologyKey: 'node' } };

describe('scheduler is woken', () => {
  let store: MemoryStore;
  let cache: WatchCache;
  let woken: string[];

  beforeEach(async () => {
    const clock = new ManualClock();
    store = new MemoryStore({ clock });
    cache = new WatchCache({ store, clock, log: silentLogger });
    defineIndexes(cache);
    void cache.run(new AbortController().signal);
    await cache.ready;
    woken = [];
  });

  const put = async (key: string, document: unknown) => {
    const seen = await store.get(key);
    const puts = document === undefined ? [] : [{ key, bytes: encode(document) }];
    await store.commit({
      guards: [{ key, at: seen?.revision ?? 0 }],
      puts,
      deletes: document === undefined ? [key] : [],
    });
    await cache.barrier();
  };
  const waiting = async (
    name: string,
    filters: SchedulingReport['filters'],
    more: Partial<StoredDeployment> = {},
    tenant = 't1',
  ) => {
    const deployment = { metadata: metadata(tenant, `dep_${name}`), kind: 'Deployment', name, image: 'i', replicas: 1 };
    await put(keys.deployment(tenant, name), { ...deployment, secretsVersion: 0, ...more });
    const record: Partial<SchedulingReport> = { uid: `dep_${name}`, unplaced: 1, filters, refusing: filters };
    await put(keys.scheduling(tenant, name), record);
  };
  const replica = (deployment: string, resources = {}): Replica => ({
    uid: `r-${deployment}`,
    tenant: 't1',
    deployment,
    deploymentUid: `dep_${deployment}`,
    slot: 0,
    generation: 1,
    templateHash: 'h',
    template: { image: 'i', secretsVersion: 0, resources },
    nodeId: 'node_a',
    createdAt: AT,
  });
  /** What the wake says to every change from now on. */
  const listen = (wake: Wake) =>
    cache.subscribe(change => {
      if (change.key.startsWith(wake.prefix)) woken.push(...wake.keys(change, cache));
    });

  const fleets = (of: Cache) => new TenantFleets(of);

  it('by a node that appears or goes: everything of its tenant that waits', async () => {
    await waiting('web', ['ready']);
    await waiting('other', ['ready'], {}, 't2');
    listen(wakeOnCandidateChange(defaultPolicy));
    await put(keys.node('t1', 'a'), node('a'));
    await put(keys.node('t1', 'a'), undefined);
    expect(woken).to.deep.equal(['t1/web', 't1/web']);
  });

  it('by other labels: only what they mean something to', async () => {
    await put(keys.node('t1', 'a'), node('a'));
    await waiting('web', ['residency'], { placement: german });
    await waiting('indifferent', ['ready']);
    listen(wakeOnCandidateChange(defaultPolicy));
    await put(keys.node('t1', 'a'), node('a', { labels: { disk: 'ssd' } }));
    expect(woken).to.deep.equal([]);
    await put(keys.node('t1', 'a'), node('a', { labels: { 'mooring.io/country': 'FR' } }));
    expect(woken, 'what the node reports is part of the explanation').to.deep.equal(['t1/web']);
    await put(keys.node('t1', 'a'), node('a', { labels: { 'mooring.io/country': 'DE' } }));
    expect(woken).to.deep.equal(['t1/web', 't1/web']);
  });

  it('by a node that begins or ceases to be ready, and not by one that stays as it is', async () => {
    await put(keys.nodeStatus('t1', 'a'), status('a', 'failed'));
    await waiting('web', ['ready']);
    listen(wakeOnReadinessChange);
    await put(keys.nodeStatus('t1', 'a'), status('a', 'failed', '2031-01-01T00:00:00.000Z'));
    expect(woken).to.deep.equal([]);
    await put(keys.nodeStatus('t1', 'a'), status('a', 'ready'));
    expect(woken).to.deep.equal(['t1/web']);
  });

  it('by a node that was given up and enrolled anew under its name, though the one before was ready too', async () => {
    await put(keys.nodeStatus('t1', 'a'), status('a', 'ready'));
    await waiting('web', ['ready']);
    listen(wakeOnReadinessChange);
    await put(keys.nodeStatus('t1', 'a'), { ...status('a', 'ready'), id: 'node_other' });
    expect(woken).to.deep.equal(['t1/web']);
  });

  it('by a replica that goes: only what its node would take now, or what kept apart from it', async () => {
    await put(keys.node('t1', 'a'), node('a'));
    await put(keys.nodeStatus('t1', 'a'), status('a', 'ready'));
    await put(keys.replica('t1', 'web', 0), replica('web', { cpu: '800m' }));
    await waiting('fits', ['resources'], { resources: { cpu: '900m' } });
    await waiting('large', ['resources'], { resources: { cpu: '2' } });
    await waiting('apart', ['anti_affinity'], { placement: apartFromWeb, resources: { cpu: '2' } });
    await waiting('limited', ['quota'], { resources: { cpu: '2' } });
    await waiting('unmet', ['residency'], { placement: german });
    listen(wakeOnLoadChange(defaultPolicy, fleets));
    await put(keys.replica('t1', 'web', 0), { ...replica('web', { cpu: '800m' }), retiringSince: AT });
    expect(woken, 'its container may still be there').to.deep.equal([]);
    await put(keys.replica('t1', 'web', 0), undefined);
    expect(woken.toSorted()).to.deep.equal(['t1/apart', 't1/fits', 't1/limited']);
  });

  it('by a replica that is placed: only what its node refuses from now on, or what a quota does', async () => {
    await put(keys.node('t1', 'a'), node('a'));
    await put(keys.nodeStatus('t1', 'a'), status('a', 'ready'));
    await put(keys.tenant('t1'), { id: 't1', quotas: { containers: 2 } });
    const { nodeId: _, ...unplaced } = replica('web', { cpu: '800m' });
    await put(keys.replica('t1', 'web', 0), unplaced);
    await waiting('crowded', ['residency'], { placement: german, resources: { cpu: '900m' } });
    await waiting('modest', ['residency'], { placement: german });
    await waiting('large', ['resources'], { resources: { cpu: '2' } });
    listen(wakeOnLoadChange(defaultPolicy, fleets));
    await put(keys.replica('t1', 'web', 0), { ...unplaced, nodeId: 'node_a' });
    expect(woken).to.deep.equal(['t1/crowded']);
    await put(keys.replica('t1', 'web', 1), { ...unplaced, slot: 1, uid: 'r-1', nodeId: 'node_a' });
    expect(woken.slice(1).toSorted(), 'the quota is used up').to.deep.equal(['t1/crowded', 't1/large', 't1/modest']);
  });

  it('by replicas that are placed at once: each tenant by its own, and a quota by the sum of them', async () => {
    const { nodeId: _, ...unplaced } = replica('web', { cpu: '100m' });
    const all = ['t1', 't2'].flatMap(tenant =>
      [0, 1].map(slot => ({ ...unplaced, tenant, slot, uid: `${tenant}-${slot}` })),
    );
    for (const tenant of ['t1', 't2']) await waiting('modest', ['residency'], { placement: german }, tenant);
    await put(keys.tenant('t1'), { id: 't1', quotas: { containers: 3 } });
    await put(keys.tenant('t2'), { id: 't2', quotas: { containers: 2 } });
    for (const each of all) await put(keys.replica(each.tenant, 'web', each.slot), each);
    listen(wakeOnLoadChange(defaultPolicy, fleets));
    const placed = all.map(each => ({ key: keys.replica(each.tenant, 'web', each.slot), each }));
    const guards = placed.map(({ key }) => ({ key, at: cache.get(key)!.revision }));
    const puts = placed.map(({ key, each }) => ({ key, bytes: encode({ ...each, nodeId: `node_${each.tenant}` }) }));
    await store.commit({ guards, puts, deletes: [] });
    await cache.barrier();
    expect([...new Set(woken)]).to.deep.equal(['t2/modest']);
    await waiting('later', ['residency'], { placement: german });
    await put(keys.replica('t1', 'web', 2), { ...unplaced, slot: 2, uid: 't1-2', nodeId: 'node_t1' });
    expect(woken.filter(key => key.startsWith('t1/')).toSorted(), 'seen anew').to.deep.equal(['t1/later', 't1/modest']);
  });

  it('by a replica that goes from a node that is no more: only what waits for a quota', async () => {
    await put(keys.replica('t1', 'web', 0), replica('web'));
    await waiting('fits', ['resources'], { resources: { cpu: '900m' } });
    await waiting('limited', ['quota']);
    listen(wakeOnLoadChange(defaultPolicy, fleets));
    await put(keys.replica('t1', 'web', 0), undefined);
    expect(woken).to.deep.equal(['t1/limited']);
  });

  it('by a deployment that goes: only what waits for a quota', async () => {
    await put(keys.deployment('t1', 'old'), { metadata: metadata('t1', 'dep_old'), name: 'old' });
    await waiting('limited', ['quota']);
    await waiting('other', ['resources']);
    listen(wakeOnRemoval(ranges.deployments));
    await put(keys.deployment('t1', 'old'), { metadata: metadata('t1', 'dep_old'), name: 'old', replicas: 2 });
    expect(woken).to.deep.equal([]);
    await put(keys.deployment('t1', 'old'), undefined);
    expect(woken).to.deep.equal(['t1/limited']);
  });

  it('by a network that comes or goes: only what joins it', async () => {
    await waiting('web', ['network'], { networks: ['backend'] });
    await waiting('other', ['network'], { networks: ['front'] });
    await waiting('foreign', ['network'], { networks: ['backend'] }, 't2');
    listen(wakeOnNetworkChange);
    await put(keys.network('t1', 'backend'), { metadata: metadata('t1', 'net_1'), name: 'backend', nodeId: 'node_a' });
    await put(keys.network('t1', 'backend'), undefined);
    expect(woken).to.deep.equal(['t1/web', 't1/web']);
  });

  it('by the network of an older template that a canary is compared with', async () => {
    const bounds = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '1m', autoRollback: true };
    const rollout = { ...bounds, canary: { replicas: 1 } };
    await waiting('web', ['network'], { networks: ['front'], rollout });
    const template = { image: 'web:0', secretsVersion: 0, networks: ['backend'] };
    await put(keys.replica('t1', 'web', 0), {
      ...replica('web'),
      deploymentUid: 'dep_web',
      nodeId: undefined,
      templateHash: 'old',
      template,
    });
    listen(wakeOnNetworkChange);
    await put(keys.network('t1', 'backend'), { metadata: metadata('t1', 'net_1'), name: 'backend', nodeId: 'node_a' });
    await put(keys.network('t1', 'other'), { metadata: metadata('t1', 'net_2'), name: 'other', nodeId: 'node_a' });
    expect(woken).to.deep.equal(['t1/web']);
  });

  it('by a tenant’s record: everything of it that waits', async () => {
    await waiting('web', ['quota']);
    await waiting('other', ['resources']);
    listen(wakeOnTenantChange);
    await put(keys.tenant('t1'), { id: 't1', quotas: { containers: 5 } });
    expect(woken).to.have.members(['t1/web', 't1/other']);
  });

  it('by a deployment that keeps apart, or no longer does: only those that it names', async () => {
    await waiting('web', ['anti_affinity']);
    await waiting('other', ['anti_affinity']);
    listen(wakeOnAntiAffinityChange);
    await put(keys.deployment('t1', 'db'), { metadata: metadata('t1', 'dep_db'), name: 'db', placement: apartFromWeb });
    await put(keys.deployment('t1', 'db'), { metadata: metadata('t1', 'dep_db'), name: 'db' });
    expect(woken).to.deep.equal(['t1/web', 't1/web']);
  });
});
