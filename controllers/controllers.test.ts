import { expect } from 'chai';

import type { StoredEvent } from '../crds/event/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import type { NodeStatus } from '../crds/node/index.js';
import type { Replica } from '../crds/replica/index.js';
import { type RejectionGroup, type SchedulingReport, ungroupRejections } from '../crds/scheduling/index.js';
import type { LeaderRecord } from '../pkg/store/index.js';
import { AT, makeDeployment, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';

describe('controllers together', () => {
  let world: TestCluster;

  beforeEach(() => {
    world = new TestCluster();
  });

  afterEach(() => world.close());

  it('bring a deployment up, scale it, roll it, and remove it without a trace', async () => {
    world.controllers('a');
    await world.enrol('n1');
    await world.enrol('n2');
    await world.clock.pass(2000);
    await world.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await world.clock.pass(2000);

    expect((await world.status())?.phase).to.equal('Running');
    expect((await world.status())?.placements.map(({ nodeId }) => nodeId).toSorted()).to.deep.equal([
      'node_n1',
      'node_n2',
    ]);

    await world.put(
      keys.deployment(TENANT, 'web'),
      makeDeployment({ metadata: makeMetadata('dep_1', 2), replicas: 3 }),
    );
    await world.clock.pass(2000);
    expect((await world.status())?.readyReplicas).to.equal(3);

    const rolled = makeDeployment({ metadata: makeMetadata('dep_1', 3), replicas: 3, image: 'web:2' });
    await world.put(keys.deployment(TENANT, 'web'), rolled);
    await world.clock.pass(5000);
    const replicas = await world.all<Replica>(ranges.replicas);
    expect(replicas.map(({ template }) => template.image)).to.deep.equal(['web:2', 'web:2', 'web:2']);
    expect((await world.status())?.phase).to.equal('Running');

    const deleted = { ...rolled, metadata: { ...makeMetadata('dep_1', 4), deletedAt: AT } };
    await world.put(keys.deployment(TENANT, 'web'), deleted);
    await world.clock.pass(5000);
    for (const range of [ranges.deployments, ranges.statuses, ranges.schedulings, ranges.replicas, ranges.reports]) {
      expect(await world.all(range), range).to.deep.equal([]);
    }
    const types = await world.eventTypes();
    expect(types).to.include.members(['deployment.placed', 'deployment.running', 'deployment.rollout_completed']);
    expect(types.at(-1)).to.equal('deployment.deleted');
  });

  it('report once why no replica can be placed, and place as soon as a node can take it', async () => {
    world.controllers('a');
    const failing = await world.enrol('n1');
    await world.clock.pass(1000);
    await world.store.revoke(failing);
    await world.clock.pass(1000);
    await world.put(keys.deployment(TENANT, 'web'), makeDeployment({ resources: { cpu: '600m' } }));
    await world.clock.pass(5000);

    expect((await world.status())?.phase).to.equal('Unschedulable');
    expect((await world.get<SchedulingReport>(keys.scheduling(TENANT, 'web')))?.summary).to.equal(
      '0 of 1 nodes: 1 ready',
    );
    const [event] = (await world.all<StoredEvent>(ranges.events)).filter(
      ({ type }) => type === 'deployment.unschedulable',
    );
    expect(ungroupRejections(event?.data['groups'] as RejectionGroup[])).to.have.length(1);
    expect(event?.count).to.equal(1);

    await world.enrol('n2');
    await world.clock.pass(2000);
    expect((await world.status())?.readyReplicas).to.equal(1);
    expect((await world.status())?.message).to.include('0 of 2 nodes: 1 ready, 1 resources');

    await world.enrol('n3');
    await world.clock.pass(2000);
    expect((await world.status())?.phase).to.equal('Running');
    expect(await world.get(keys.scheduling(TENANT, 'web'))).to.equal(undefined);
  });

  it('write nothing while nothing changes', async () => {
    world.controllers('a');
    await world.enrol('n1');
    await world.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await world.clock.pass(60_000);

    const before = await world.store.revision();
    await world.clock.pass(600_000);
    expect(await world.store.revision()).to.equal(before);
  });

  it('mark a node without heartbeats failed and its deployment degraded, and both recover', async () => {
    world.controllers('a');
    const lease = await world.enrol('n1');
    await world.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await world.clock.pass(2000);

    await world.store.revoke(lease);
    await world.clock.pass(2000);
    expect((await world.get<NodeStatus>(keys.nodeStatus(TENANT, 'n1')))?.status).to.equal('failed');
    expect((await world.status())?.phase).to.equal('Degraded');

    await world.enrol('n1');
    await world.clock.pass(2000);
    expect((await world.status())?.phase).to.equal('Running');
    expect((await world.eventTypes()).slice(-2)).to.deep.equal(['deployment.degraded', 'deployment.recovered']);
  });

  it('take over within 12 seconds of a leader’s death, and at once when it resigns', async () => {
    const first = world.controllers('first');
    await world.clock.pass(1000);
    world.controllers('standby');
    await world.enrol('n1');
    await world.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1 }));
    await world.clock.pass(1000);
    const leader = () => world.get<LeaderRecord>(keys.leader('scheduler'));
    expect((await leader())?.holder).to.equal('first');
    expect((await leader())?.lastReconcileAt).to.be.a('string');

    first.abort();
    await world.clock.pass(1500);
    expect((await leader())?.holder).to.equal('standby');
    await world.put(
      keys.deployment(TENANT, 'web'),
      makeDeployment({ metadata: makeMetadata('dep_1', 2), replicas: 2 }),
    );
    await world.clock.pass(1000);
    expect((await world.status())?.readyReplicas).to.equal(2);
  });

  it('continue when the lease of their events was revoked', async () => {
    world.controllers('a');
    await world.enrol('n1');
    await world.clock.pass(2000);
    for (let id = 1; id < 20; id++) {
      const held = await world.all<{ lease?: string }>('');
      if (!held.some(({ lease }) => lease === String(id))) await world.store.revoke(String(id));
    }
    await world.put(keys.deployment(TENANT, 'web'), makeDeployment());
    await world.clock.pass(5000);

    expect((await world.status())?.phase).to.equal('Running');
  });
});
