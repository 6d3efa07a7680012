import { expect } from 'chai';
import fc from 'fast-check';

import type { Deployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import type { Candidate } from '../placement/index.js';
import { encode, MemoryStore, WatchCache } from '../store/index.js';
import { defineFleetIndexes } from './candidates.js';
import { TenantFleets } from './fleets.js';
import { defaultPolicy, toWorkload } from './workload.js';

const AT = '2030-01-01T00:00:00.000Z';
const TENANTS = ['t1', 't2'] as const;

const node = (tenant: string, name: string, cpu: number): StoredNode => ({
  metadata: { tenant, uid: `node_${name}`, generation: 1, createdAt: AT, updatedAt: AT, specHash: '' },
  id: `node_${name}`,
  name,
  labels: { size: String(cpu) },
  capacity: { cpu, memory: 2 ** 30, disk: 0 },
  publicKey: '',
  controlPlane: false,
  agentVersion: '0',
});
const replica = (tenant: string, slot: number, nodeId: string): Replica => ({
  uid: `r${slot}`,
  tenant,
  deployment: 'web',
  deploymentUid: 'dep_1',
  slot,
  generation: 1,
  templateHash: 'h',
  template: { image: 'i', secretsVersion: 0, resources: { cpu: '100m' } },
  nodeId,
  createdAt: AT,
});

const webSpec: Deployment = { kind: 'Deployment', name: 'web', image: 'i', replicas: 1, secretsVersion: 0 };

const step = fc.record({
  what: fc.constantFrom('node', 'status', 'replica', 'remove node', 'remove replica', 'look'),
  tenant: fc.constantFrom(...TENANTS),
  node: fc.nat(2),
  slot: fc.nat(3),
  /** Another node of the same name, as a relist tells of one that was given up and enrolled anew meanwhile. */
  isAnother: fc.boolean(),
  cpu: fc.constantFrom(1000, 2000),
  status: fc.constantFrom<NodeStatus['status'][]>('ready', 'failed'),
});

describe('TenantFleets', () => {
  let store: MemoryStore;
  let cache: WatchCache;

  beforeEach(async () => {
    const clock = new ManualClock();
    store = new MemoryStore({ clock });
    cache = new WatchCache({ store, clock, log: silentLogger });
    defineFleetIndexes(cache);
    defineFleetIndexes(cache);
    void cache.run(new AbortController().signal);
    await cache.ready;
  });

  const put = async (key: string, document: unknown) => {
    const seen = await store.get(key);
    if (!seen && document === undefined) return;
    await store.commit({
      guards: [{ key, at: seen?.revision ?? 0 }],
      puts: document === undefined ? [] : [{ key, bytes: encode(document) }],
      deletes: document === undefined ? [key] : [],
    });
    await cache.barrier();
  };
  const seen = async (fleets: TenantFleets, tenant: string) => {
    const nodes: Candidate[] = [...(await fleets.read(tenant)).nodes];
    const workload = toWorkload(webSpec, tenant, { cache, policy: defaultPolicy }, fleets.readTotals(tenant));
    return {
      nodes: nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      totals: fleets.readTotals(tenant),
      chosen: (await fleets.read(tenant)).place(3, workload).nodes.map(({ id }) => id),
    };
  };

  it('property: updated change by change equals one built from the final state', async () => {
    const kept = new TenantFleets(cache);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async steps => {
        for (const { what, tenant, node: position, isAnother, slot, cpu, status } of steps) {
          const name = `${tenant}-n${position}`;
          const id = `node_${name}${isAnother ? '-anew' : ''}`;
          const record = { id, status, reason: '', since: AT };
          if (what === 'node') await put(keys.node(tenant, name), { ...node(tenant, name, cpu), id });
          if (what === 'status') await put(keys.nodeStatus(tenant, name), record);
          if (what === 'replica') await put(keys.replica(tenant, 'web', slot), replica(tenant, slot, id));
          if (what === 'remove node') await put(keys.node(tenant, name), undefined);
          if (what === 'remove replica') await put(keys.replica(tenant, 'web', slot), undefined);
          if (what === 'look') await seen(kept, tenant);
        }
        for (const tenant of TENANTS) {
          expect(await seen(kept, tenant)).to.deep.equal(await seen(new TenantFleets(cache), tenant));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('counts an assumed replica once, until it is released', async () => {
    await put(keys.node('t1', 'a'), node('t1', 'a', 1000));
    const fleets = new TenantFleets(cache);
    const release = fleets.assume([replica('t1', 0, 'node_a')]);
    expect([(await fleets.read('t1')).totals.cpu, fleets.isAssuming('t1')]).to.deep.equal([100, true]);

    await put(keys.replica('t1', 'web', 0), replica('t1', 0, 'node_a'));
    expect((await fleets.read('t1')).totals.cpu, 'not twice').to.equal(100);
    await put(keys.replica('t1', 'web', 0), undefined);
    release();
    expect([(await fleets.read('t1')).totals.cpu, fleets.isAssuming('t1')]).to.deep.equal([0, false]);
  });

  it('places on a node that replaced another of its name while the watch was broken', async () => {
    const ready = { status: 'ready', reason: 'heartbeat_received', since: AT };
    await put(keys.node('t1', 'a'), node('t1', 'a', 1000));
    await put(keys.nodeStatus('t1', 'a'), { id: 'node_a', ...ready });
    const fleets = new TenantFleets(cache);
    const workload = toWorkload(webSpec, 't1', { cache, policy: defaultPolicy }, (await fleets.read('t1')).totals);
    const chosen = async () => (await fleets.read('t1')).place(1, workload).nodes.map(({ id }) => id);
    expect(await chosen()).to.deep.equal(['node_a']);

    // One change with both ids, as after a relist.
    await put(keys.node('t1', 'a'), { ...node('t1', 'a', 1000), id: 'node_b' });
    await put(keys.nodeStatus('t1', 'a'), { id: 'node_b', ...ready });
    expect(await chosen()).to.deep.equal(['node_b']);
  });

  it('never shows a tenant the nodes of another', async () => {
    await put(keys.node('t2', 'b'), node('t2', 'b', 1000));
    expect([...(await new TenantFleets(cache).read('t1')).nodes]).to.deep.equal([]);
  });
});

describe('what a deployment needs of an engine', () => {
  const clock = new ManualClock();
  const cache = new WatchCache({ store: new MemoryStore({ clock }), clock, log: silentLogger });
  defineFleetIndexes(cache);
  const port = { containerPort: 80, protocol: 'tcp' } as const;
  const cases: readonly (readonly [Partial<Deployment>, readonly string[]])[] = [
    [{}, []],
    [{ ports: [port], user: '1000:0', resources: { limits: { cpu: '1' } } }, []],
    [{ ports: [{ ...port, hostPort: 80 }] }, ['host_ports']],
    [{ networks: ['backend'] }, ['networks']],
    [{ user: 'app' }, ['named_users']],
    [{ user: '0:1000' }, ['named_users']],
    [{ resources: { limits: { pids: 10 } } }, ['pid_limits']],
    [{ preStop: ['sync'] }, ['pre_stop']],
  ];
  for (const [change, needs] of cases) {
    it(`${JSON.stringify(change)}: ${needs.join(', ') || 'nothing'}`, () => {
      const totals = { replicas: 0, cpu: 0, memory: 0 };
      const workload = toWorkload({ ...webSpec, ...change }, 't1', { cache, policy: defaultPolicy }, totals);
      expect(workload.needs).to.deep.equal(needs);
    });
  }
});
