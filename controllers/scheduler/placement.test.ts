import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NetworkStatus } from '../../crds/network/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type RejectionGroup, type SchedulingReport, ungroupRejections } from '../../crds/scheduling/index.js';
import { defaultPolicy } from '../../pkg/fleet/index.js';
import { type Change, StoreRefusedFault } from '../../pkg/store/index.js';
import { AT, makeDeployment, interceptCommits, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

const at = (country: string) => ({ 'mooring.io/country': country });
const german = (change: Partial<StoredDeployment> = {}) =>
  makeDeployment({ placement: { residency: { country: 'DE' } }, ...change });
const named = (name: string, change: Partial<StoredDeployment> = {}) =>
  makeDeployment({ metadata: makeMetadata(`dep_${name}`), name, replicas: 1, ...change });

describe('controllers', () => {
  let cluster: TestCluster;
  beforeEach(() => {
    cluster = new TestCluster();
  });
  afterEach(() => cluster.close());

  const put = (spec: StoredDeployment) => cluster.put(keys.deployment(TENANT, spec.name), spec);
  const condition = async (type: string) => (await cluster.status())?.conditions.find(each => each.type === type);
  const events = async (type: string) =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(event => event.type === type);

  it('[2.7.9 2.7.18 3.7] place no replica while no node satisfies the residency, and place it at once on a node that does', async () => {
    cluster.controllers('a');
    await cluster.enrol('french', at('FR'));
    await cluster.clock.pass(1000);
    await put(german());
    await cluster.clock.pass(2000);

    expect((await cluster.status())?.phase).to.equal('Waiting');
    expect(await condition('ResidencySatisfied')).to.include({ status: 'False', reason: 'NoMatchingNode' });
    expect((await events('deployment.waiting')).map(({ reason }) => reason)).to.deep.equal(['residency']);
    expect(await cluster.whereabouts()).to.deep.equal(['nowhere', 'nowhere']);

    await cluster.enrol('german', at('DE'));
    await cluster.clock.pass(1500);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await cluster.whereabouts()).to.deep.equal(['node_german', 'node_german']);
    expect(await condition('ResidencySatisfied')).to.include({ status: 'True' });
  });

  it('write one event for one cause of unplaced replicas, whatever else changes', async () => {
    cluster.controllers('a');
    await cluster.enrol('roaming', at('FR'));
    await cluster.clock.pass(1000);
    await put(german());
    for (let round = 0; round < 30; round++) {
      await cluster.relabel('roaming', at(round % 2 === 0 ? 'IT' : 'FR'));
      await cluster.clock.pass(5000);
    }
    await cluster.clock.pass(3_600_000);

    const said = await events('deployment.unschedulable');
    expect(said).to.have.length(1);
    expect(said[0]?.count).to.be.within(2, 4);
    expect(await events('deployment.waiting')).to.have.length(1);
  });

  it('write no event for each failure and return of a node that cannot take the replica', async () => {
    cluster.controllers('a');
    const draining = { drain: { by: 'tok_1', since: AT } };
    await cluster.enrol('small');
    await cluster.clock.pass(1000);
    await put(makeDeployment({ resources: { cpu: '2' } }));
    await cluster.clock.pass(2000);
    for (let round = 0; round < 6; round++) {
      await cluster.order('small', round % 2 === 0 ? draining : {});
      await cluster.clock.pass(5000);
    }
    expect(await events('deployment.unschedulable')).to.have.length(1);

    await cluster.order('small', draining);
    await cluster.clock.pass(5000);
    expect((await cluster.status())?.message, 'the status does not wait').to.include('1 not ready');
    await cluster.clock.pass(60_000);
    expect((await events('deployment.unschedulable')).at(-1)?.message).to.include('1 not ready');
  });

  it('store the report without its event when the store refuses the event, and are woken by it', async () => {
    const tooLarge = ({ puts }: Change) => puts.some(({ bytes }) => bytes.includes('"deployment.unschedulable"'));
    const store = interceptCommits(cluster.store, change =>
      tooLarge(change) ? Promise.reject(new StoreRefusedFault('request is too large')) : undefined,
    );
    cluster.controllers('a', undefined, store);
    await put(makeDeployment());
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.phase).to.equal('Unschedulable');

    await cluster.enrol('n1');
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.phase).to.equal('Running');
  });

  it('[3.10 3.11 6.2 6.3] name every node with every reason in the event, and only counts in the status', async () => {
    cluster.controllers('a');
    await cluster.enrol('french', at('FR'));
    const silent = await cluster.enrol('nowhere');
    await cluster.clock.pass(1000);
    await cluster.store.revoke(silent);
    await cluster.clock.pass(1000);
    await put(german());
    await cluster.clock.pass(2000);

    const [event] = await events('deployment.unschedulable');
    const told = ungroupRejections(event?.data['groups'] as readonly RejectionGroup[]);
    const short = told.map(({ node, reasons }) => [node, ...reasons.map(each => `${each.filter}: ${each.reported}`)]);
    expect(short).to.deep.equal([
      ['french', 'residency: country FR'],
      ['nowhere', 'ready: failed', 'residency: country nothing'],
    ]);
    for (const { reasons } of told) expect(reasons.at(-1)?.required).to.equal('country DE');
    const message = (await cluster.status())?.message ?? '';
    expect(message)
      .to.include('0 of 2 nodes: 1 not ready and residency, 1 residency')
      .and.not.match(/french|nowhere/);
  });

  it('[2.7.9] move replicas off a node whose labels no longer satisfy the residency', async () => {
    cluster.controllers('a');
    await cluster.enrol('one', at('DE'));
    await cluster.enrol('two', at('DE'));
    await cluster.clock.pass(1000);
    await put(german());
    await cluster.clock.pass(2000);
    expect((await cluster.whereabouts()).toSorted()).to.deep.equal(['node_one', 'node_two']);

    await cluster.relabel('one', at('FR'));
    await cluster.clock.pass(3000);
    expect(await cluster.whereabouts()).to.deep.equal(['node_two', 'node_two']);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await events('deployment.residency_violated')).to.have.length(1);
  });

  const { regions } = defaultPolicy;
  const unenforced = { ...defaultPolicy, regions: { ...regions, enforced: false } };

  it('keep placed replicas and place no new ones when residency is no longer enforced', async () => {
    const enforcing = cluster.controllers('a');
    await cluster.enrol('german', at('DE'));
    await cluster.clock.pass(1000);
    await put(german());
    await cluster.clock.pass(2000);
    const before = await cluster.all<Replica>(ranges.replicas);
    expect(before.map(({ nodeId }) => nodeId)).to.deep.equal(['node_german', 'node_german']);

    enforcing.abort();
    cluster.controllers('b', unenforced);
    await cluster.clock.pass(30_000);
    await cluster.relabel('german', at('FR'));
    await cluster.clock.pass(5000);
    expect(await cluster.all<Replica>(ranges.replicas)).to.deep.equal(before);

    await put(german({ metadata: makeMetadata('dep_1', 2), replicas: 3 }));
    await cluster.clock.pass(5000);
    expect(await cluster.whereabouts()).to.deep.equal(['node_german', 'node_german', 'nowhere']);
  });

  it('[2.7.18] place no replica with a residency that is not enforced', async () => {
    cluster.controllers('a', unenforced);
    await cluster.enrol('german', at('DE'));
    await cluster.clock.pass(1000);
    await put(german());
    await cluster.clock.pass(2000);

    expect((await cluster.status())?.phase).to.equal('Waiting');
    expect(await condition('ResidencySatisfied')).to.include({ reason: 'EnforcementOff' });
  });

  it('[2.7.20] keep deployments apart by anti-affinity, whichever of them declares it', async () => {
    cluster.controllers('a');
    await cluster.enrol('n1');
    await cluster.clock.pass(1000);
    const antiAffinity = { self: false, deployments: ['web'], topologyKey: 'node' };
    await put(named('db', { placement: { antiAffinity } }));
    await cluster.clock.pass(2000);
    await put(makeDeployment({ replicas: 1 }));
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.phase).to.equal('Unschedulable');

    await put(named('db', { metadata: makeMetadata('dep_db', 2) }));
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.phase).to.equal('Running');
  });

  it('say at once what else is in the way of a deployment that waits, when others take it, and when they leave', async () => {
    cluster.controllers('a', { ...defaultPolicy, quotas: { containers: 3 } });
    await cluster.enrol('french', at('FR'));
    await cluster.clock.pass(1000);
    const refusedBy = async () => [...((await cluster.status())?.refusedBy ?? [])].sort();
    await put(german({ replicas: 1, resources: { cpu: '600m' } }));
    await cluster.clock.pass(2000);
    expect(await refusedBy()).to.deep.equal(['residency']);

    await put(named('large', { resources: { cpu: '700m' } }));
    await cluster.clock.pass(2000);
    expect(await refusedBy(), 'the node is full').to.deep.equal(['residency', 'resources']);

    await put(named('small', { replicas: 2 }));
    await cluster.clock.pass(2000);
    expect(await refusedBy(), 'the quota is used up').to.deep.equal(['quota', 'residency', 'resources']);

    const { metadata, ...rest } = named('large', { resources: { cpu: '700m' } });
    await put({ ...rest, metadata: { ...metadata, generation: 2, deletedAt: AT } });
    await cluster.clock.pass(5000);
    expect(await refusedBy()).to.deep.equal(['residency']);
  });

  it('[3.8 3.32 8.12] place no more than a quota allows, stop nothing, and continue when it is raised', async () => {
    cluster.controllers('a', { ...defaultPolicy, quotas: { containers: 2 } });
    await cluster.enrol('n1');
    await cluster.clock.pass(1000);
    await put(makeDeployment({ replicas: 3 }));
    await cluster.clock.pass(2000);
    expect(await cluster.status()).to.include({ phase: 'Unschedulable', readyReplicas: 2 });
    expect(await events('quota.reached')).to.have.length(1);

    await cluster.put(keys.tenant(TENANT), { id: TENANT, name: 't', platform: false, quotas: { containers: 5 } });
    await cluster.clock.pass(2000);
    expect(await cluster.status()).to.include({ phase: 'Running', readyReplicas: 3 });
  });

  it('write down again what a damaged report does not say, so that it waits for no quota in vain', async () => {
    cluster.controllers('a', { ...defaultPolicy, quotas: { containers: 2 } });
    await cluster.enrol('n1');
    for (const name of ['first', 'web']) await put(named(name, { replicas: 2 }));
    await cluster.clock.pass(2000);
    const key = keys.scheduling(TENANT, 'web');
    const { refusing, ...damaged } = (await cluster.get<SchedulingReport>(key))!;
    await cluster.put(key, damaged);
    await cluster.clock.pass(1000);
    const again = await cluster.get<SchedulingReport>(key);
    expect(again?.refusing).to.deep.equal(refusing).and.include('quota');
  });

  it('place what joins a network on its node only, and as soon as there is one', async () => {
    cluster.controllers('a');
    for (const name of ['n1', 'n2']) await cluster.enrol(name);
    await cluster.clock.pass(1000);
    await put(makeDeployment({ networks: ['backend'] }));
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.message).to.contain('0 of 2 nodes: 2 network');

    const network = { name: 'backend', driver: 'bridge', labels: {}, internal: false, nodeId: 'node_n2' };
    await cluster.put(keys.network(TENANT, 'backend'), { metadata: makeMetadata('net_1'), ...network });
    await cluster.clock.pass(2000);
    expect(await cluster.whereabouts()).to.deep.equal(['node_n2', 'node_n2']);
    expect((await cluster.status())?.phase).to.equal('Running');
    const status = await cluster.get<NetworkStatus>(keys.networkStatus(TENANT, 'backend'));
    expect(status).to.include({ state: 'pending', node: 'n2' });
  });

  it('[2.2.28] start a deployment when its dependency is healthy, and keep it running afterwards', async () => {
    cluster.controllers('a');
    cluster.health.set('db', 'starting');
    await cluster.enrol('n1');
    await cluster.clock.pass(1000);
    await put(makeDeployment({ replicas: 1, dependsOn: [{ name: 'db', condition: 'healthy' }] }));
    await cluster.clock.pass(1000);
    expect((await cluster.status())?.phase).to.equal('Waiting');
    expect((await events('deployment.waiting')).map(({ reason }) => reason)).to.deep.equal(['dependency']);

    await put(named('db'));
    await cluster.clock.pass(2000);
    expect((await cluster.status('db'))?.phase).to.equal('Progressing');
    expect(await cluster.whereabouts()).to.deep.equal([]);

    const said = async (health: 'healthy' | 'unhealthy') => {
      cluster.health.set('db', health);
      for (const replica of await cluster.all<Replica>(ranges.replicasOf(TENANT, 'db'))) await cluster.report(replica);
      await cluster.clock.pass(2000);
    };
    await said('healthy');
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await condition('DependenciesHealthy')).to.include({ status: 'True' });

    await said('unhealthy');
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await condition('DependenciesHealthy')).to.include({ status: 'False' });
  });

  it('start a deployment as soon as its dependency has started', async () => {
    cluster.controllers('a');
    cluster.health.set('db', 'starting');
    await cluster.enrol('n1');
    await cluster.clock.pass(1000);
    await put(makeDeployment({ replicas: 1, dependsOn: [{ name: 'db', condition: 'started' }] }));
    await put(named('db'));
    await cluster.clock.pass(3000);
    expect((await cluster.status())?.phase).to.equal('Running');
  });
});
