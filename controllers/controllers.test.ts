import { expect } from 'chai';

import type { StoredEvent } from '../crds/event/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import type { NodeStatus } from '../crds/node/index.js';
import type { Replica } from '../crds/replica/index.js';
import { type RejectionGroup, type SchedulingReport, ungroupRejections } from '../crds/scheduling/index.js';
import type { LeaderRecord } from '../pkg/store/index.js';
import { AT, makeDeployment, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';

describe('controllers together', () => {
  let cluster: TestCluster;

  beforeEach(() => {
    cluster = new TestCluster();
  });

  afterEach(() => cluster.close());

  it('[2.2.17] bring a deployment up, scale it, roll it, and remove it without a trace', async () => {
    cluster.controllers('a');
    await cluster.enrol('n1');
    await cluster.enrol('n2');
    await cluster.clock.pass(2000);
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await cluster.clock.pass(2000);

    expect((await cluster.status())?.phase).to.equal('Running');
    expect((await cluster.status())?.placements.map(({ nodeId }) => nodeId).toSorted()).to.deep.equal([
      'node_n1',
      'node_n2',
    ]);

    await cluster.put(
      keys.deployment(TENANT, 'web'),
      makeDeployment({ metadata: makeMetadata('dep_1', 2), replicas: 3 }),
    );
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.readyReplicas).to.equal(3);

    const rolled = makeDeployment({ metadata: makeMetadata('dep_1', 3), replicas: 3, image: 'web:2' });
    await cluster.put(keys.deployment(TENANT, 'web'), rolled);
    await cluster.clock.pass(5000);
    const replicas = await cluster.all<Replica>(ranges.replicas);
    expect(replicas.map(({ template }) => template.image)).to.deep.equal(['web:2', 'web:2', 'web:2']);
    expect((await cluster.status())?.phase).to.equal('Running');

    const deleted = { ...rolled, metadata: { ...makeMetadata('dep_1', 4), deletedAt: AT } };
    await cluster.put(keys.deployment(TENANT, 'web'), deleted);
    await cluster.clock.pass(5000);
    for (const range of [ranges.deployments, ranges.statuses, ranges.schedulings, ranges.replicas, ranges.reports]) {
      expect(await cluster.all(range), range).to.deep.equal([]);
    }
    const types = await cluster.eventTypes();
    expect(types).to.include.members(['deployment.placed', 'deployment.running', 'deployment.rollout_completed']);
    expect(types.at(-1)).to.equal('deployment.deleted');
  });

  it('[3.3 3.4 6.1] report once why no replica can be placed, and place as soon as a node can take it', async () => {
    cluster.controllers('a');
    const failing = await cluster.enrol('n1');
    await cluster.clock.pass(1000);
    await cluster.store.revoke(failing);
    await cluster.clock.pass(1000);
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ resources: { cpu: '600m' } }));
    await cluster.clock.pass(5000);

    expect((await cluster.status())?.phase).to.equal('Unschedulable');
    expect((await cluster.get<SchedulingReport>(keys.scheduling(TENANT, 'web')))?.summary).to.equal(
      '0 of 1 node: 1 not ready',
    );
    const [event] = (await cluster.all<StoredEvent>(ranges.events)).filter(
      ({ type }) => type === 'deployment.unschedulable',
    );
    expect(ungroupRejections(event?.data['groups'] as RejectionGroup[])).to.have.length(1);
    expect(event?.count).to.equal(1);

    await cluster.enrol('n2');
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.readyReplicas).to.equal(1);
    expect((await cluster.status())?.message).to.include('0 of 2 nodes: 1 not ready, 1 resources');

    await cluster.enrol('n3');
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await cluster.get(keys.scheduling(TENANT, 'web'))).to.equal(undefined);
  });

  it('write nothing while nothing changes', async () => {
    cluster.controllers('a');
    await cluster.enrol('n1');
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await cluster.clock.pass(60_000);

    const before = await cluster.store.revision();
    await cluster.clock.pass(600_000);
    expect(await cluster.store.revision()).to.equal(before);
  });

  it('[2.8.2] mark a node without heartbeats failed and its deployment degraded, and both recover', async () => {
    cluster.controllers('a');
    const lease = await cluster.enrol('n1');
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await cluster.clock.pass(2000);

    await cluster.store.revoke(lease);
    await cluster.clock.pass(2000);
    expect((await cluster.get<NodeStatus>(keys.nodeStatus(TENANT, 'n1')))?.status).to.equal('failed');
    expect((await cluster.status())?.phase).to.equal('Degraded');

    await cluster.enrol('n1');
    await cluster.clock.pass(2000);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect((await cluster.eventTypes()).slice(-2)).to.deep.equal(['deployment.degraded', 'deployment.recovered']);
  });

  it('take over within 12 seconds of a leader’s death, and at once when it resigns', async () => {
    const first = cluster.controllers('first');
    await cluster.clock.pass(1000);
    cluster.controllers('standby');
    await cluster.enrol('n1');
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1 }));
    await cluster.clock.pass(1000);
    const leader = () => cluster.get<LeaderRecord>(keys.leader('scheduler'));
    expect((await leader())?.holder).to.equal('first');
    expect((await leader())?.lastReconcileAt).to.be.a('string');

    first.abort();
    await cluster.clock.pass(1500);
    expect((await leader())?.holder).to.equal('standby');
    await cluster.put(
      keys.deployment(TENANT, 'web'),
      makeDeployment({ metadata: makeMetadata('dep_1', 2), replicas: 2 }),
    );
    await cluster.clock.pass(1000);
    expect((await cluster.status())?.readyReplicas).to.equal(2);
  });

  it('continue when the lease of their events was revoked', async () => {
    cluster.controllers('a');
    await cluster.enrol('n1');
    await cluster.clock.pass(2000);
    for (let id = 1; id < 20; id++) {
      const held = await cluster.all<{ lease?: string }>('');
      if (!held.some(({ lease }) => lease === String(id))) await cluster.store.revoke(String(id));
    }
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await cluster.clock.pass(5000);

    expect((await cluster.status())?.phase).to.equal('Running');
  });
});
