import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeOrders, NodePresence, NodeStatus, StoredNode } from '../../crds/node/index.js';
import { defaultPolicy } from '../../pkg/fleet/index.js';
import { encode, value } from '../../pkg/store/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

const ORDER = { by: 'tok_1', since: '2030-01-01T00:00:00.000Z' };
/** Of the default settings. */
const GRACE_MS = 60_000;

describe('controllers', () => {
  let cluster: TestCluster;
  let leases: Record<string, string>;
  beforeEach(async () => {
    cluster = new TestCluster();
    leases = { one: await cluster.enrol('one'), two: await cluster.enrol('two') };
  });
  afterEach(() => cluster.close());

  const begin = async (change: Partial<StoredDeployment> = {}) => {
    cluster.controllers('a');
    await cluster.clock.pass(1000);
    await put(makeDeployment(change));
    await cluster.clock.pass(2000);
  };
  const put = (spec: StoredDeployment) => cluster.put(keys.deployment(TENANT, spec.name), spec);
  const readNodeStatus = (name: string) => cluster.get<NodeStatus>(keys.nodeStatus(TENANT, name));
  const stopHeartbeats = async (name: string) => {
    await cluster.store.revoke(leases[name]!);
    await cluster.clock.pass(1000);
  };
  const order = async (name: string, orders: NodeOrders) => {
    await cluster.order(name, orders);
    await cluster.clock.pass(1000);
  };
  const events = async (type: string) =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(event => event.type === type);
  const places = async () => (await cluster.whereabouts()).toSorted();

  it('replace the replicas of a failed node after its grace period and not before', async () => {
    await begin();
    await stopHeartbeats('one');
    expect(await readNodeStatus('one')).to.deep.include({ status: 'failed', reason: 'heartbeat_missed' });
    expect((await cluster.status())?.phase).to.equal('Degraded');
    await cluster.clock.pass(GRACE_MS - 5000);
    expect(await places()).to.deep.equal(['node_one', 'node_two']);

    await cluster.clock.pass(10_000);
    expect(await readNodeStatus('one')).to.include({ lost: 'heartbeat_missed' });
    expect(await places()).to.deep.equal(['node_two', 'node_two']);
    expect(await cluster.status()).to.include({ phase: 'Running', readyReplicas: 2 });
    expect(await events('node.lost')).to.have.length(1);
    expect((await cluster.all(ranges.reports)).length).to.equal(2);
  });

  it('claim nothing of replicas whose node does not see its containers, and move none of them', async () => {
    await begin();
    const key = keys.alive(TENANT, 'one');
    const setPresence = async (more: object) => {
      const stored = (await cluster.store.get(key))!;
      const { unobservedSince: _, ...presence } = value<NodePresence>(stored);
      const puts = [{ key, bytes: encode({ ...presence, ...more }), lease: leases['one']! }];
      await cluster.store.commit({ guards: [{ key, at: stored.revision }], puts, deletes: [] });
      await cluster.clock.pass(1000);
    };
    const before = await places();
    await setPresence({ unobservedSince: ORDER.since });

    const status = (await cluster.status())!;
    expect(status).to.include({ phase: 'Degraded', readyReplicas: 1 });
    expect(status.conditions.find(({ type }) => type === 'Available')).to.include({ status: 'Unknown' });
    const unseen = status.placements.find(({ nodeId }) => nodeId === 'node_one');
    expect(unseen).to.include({ state: 'unknown', health: 'unknown' });
    expect(await readNodeStatus('one')).to.include({ status: 'unready', unobservedSince: ORDER.since });
    expect(await events('node.engine_unreachable')).to.have.length(1);
    await cluster.clock.pass(2 * GRACE_MS);
    expect(await places()).to.deep.equal(before);
    await put(makeDeployment({ metadata: makeMetadata('dep_2'), name: 'late', nodeId: 'node_one', replicas: 1 }));
    await cluster.clock.pass(2000);
    expect(await cluster.whereabouts('late')).to.deep.equal(['nowhere']);

    await setPresence({});
    expect(await cluster.status()).to.include({ phase: 'Running', readyReplicas: 2 });
    expect(await cluster.whereabouts('late')).to.deep.equal(['node_one']);
    expect(await events('node.engine_recovered')).to.have.length(1);
  });

  it('wait for a failed node as long as the setting says', async () => {
    cluster.controllers('a', undefined, undefined, { nodeGraceSeconds: 5 });
    await cluster.clock.pass(1000);
    await put(makeDeployment());
    await cluster.clock.pass(2000);
    await stopHeartbeats('one');
    await cluster.clock.pass(10_000);
    expect(await readNodeStatus('one')).to.include({ lost: 'heartbeat_missed' });
    expect(await places()).to.deep.equal(['node_two', 'node_two']);
  });

  it('keep the replicas of a node that is back in time', async () => {
    await begin();
    await stopHeartbeats('one');
    leases['one'] = await cluster.enrol('one');
    await cluster.clock.pass(GRACE_MS * 2);

    expect(await places()).to.deep.equal(['node_one', 'node_two']);
    expect(await readNodeStatus('one')).to.include({ status: 'ready' });
    expect(await cluster.all('node-grace/')).to.deep.equal([]);
  });

  it('use a lost node again within two seconds of its return, and bring nothing back to it', async () => {
    await begin();
    await stopHeartbeats('one');
    await cluster.clock.pass(GRACE_MS + 5000);
    expect(await places()).to.deep.equal(['node_two', 'node_two']);

    leases['one'] = await cluster.enrol('one');
    await cluster.clock.pass(1000);
    expect(await readNodeStatus('one'))
      .to.include({ status: 'ready' })
      .and.not.have.property('lost');
    await put(makeDeployment({ metadata: makeMetadata('dep_2'), name: 'late', nodeId: 'node_one', replicas: 1 }));
    await cluster.clock.pass(1000);
    expect(await cluster.whereabouts('late')).to.deep.equal(['node_one']);
    expect(await places()).to.deep.equal(['node_two', 'node_two']);
  });

  it('replace the replicas of a fenced node within two seconds, without its grace period', async () => {
    await begin();
    await stopHeartbeats('one');
    expect(await places()).to.deep.equal(['node_one', 'node_two']);
    await order('one', { fence: ORDER });
    await cluster.clock.pass(1000);

    expect(await places()).to.deep.equal(['node_two', 'node_two']);
    expect(await cluster.status()).to.include({ phase: 'Running', readyReplicas: 2 });
  });

  it('keep the replicas of a lost node until other nodes can take them', async () => {
    await begin();
    await Promise.all([stopHeartbeats('one'), stopHeartbeats('two')]);
    await cluster.clock.pass(GRACE_MS * 2);
    expect(await readNodeStatus('one')).to.include({ lost: 'heartbeat_missed' });
    expect(await places()).to.deep.equal(['node_one', 'node_two']);

    await cluster.enrol('three');
    await cluster.clock.pass(15_000);
    expect(await places()).to.deep.equal(['node_three', 'node_three']);
  });

  it('clear retiring replicas on a lost node, so that a deletion ends', async () => {
    await begin({ replicas: 1 });
    const [at] = await places();
    cluster.agentsWork = false;
    await stopHeartbeats(at === 'node_one' ? 'one' : 'two');
    await put(makeDeployment({ metadata: { ...makeMetadata('dep_1', 2), deletedAt: ORDER.since } }));
    await cluster.clock.pass(5000);
    expect(await cluster.all(ranges.replicas)).to.have.length(1);
    await cluster.clock.pass(GRACE_MS * 2);
    expect(await cluster.all(ranges.deployments)).to.deep.equal([]);
    expect(await cluster.all(ranges.replicas)).to.deep.equal([]);
    const [deleted] = await events('deployment.deleted');
    expect(deleted?.message).to.include(`left behind on ${at!.slice('node_'.length)}`);
    expect(deleted?.message).not.to.include('all its containers');
  });

  it('announce that all containers are gone only when they are', async () => {
    await begin({ replicas: 2 });
    await put(makeDeployment({ metadata: { ...makeMetadata('dep_1', 2), deletedAt: ORDER.since } }));
    await cluster.clock.pass(5000);
    const [deleted] = await events('deployment.deleted');
    expect(deleted?.message).to.equal('The deployment and all its containers were removed.');
  });

  it('drain a node, announce it once, and use the node again', async () => {
    await begin({ replicas: 4 });
    await order('one', { drain: ORDER });
    await cluster.clock.pass(30_000);

    expect(await places()).to.deep.equal(['node_two', 'node_two', 'node_two', 'node_two']);
    expect(await readNodeStatus('one')).to.include({ status: 'draining', reason: 'drained' });
    expect(await events('node.drained')).to.have.length(1);
    expect(await cluster.status()).to.include({ phase: 'Running', readyReplicas: 4 });
    await order('one', {});
    expect(await readNodeStatus('one')).to.include({ status: 'ready' });
  });

  const PORTED = { replicas: 1, ports: [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }] } as const;
  const portConflicts = async () => (await cluster.store.list('port-turns/')).entries.map(({ key }) => key);
  const emptied = async () => {
    await begin(PORTED);
    const [name] = (await places()).map(id => id.slice('node_'.length));
    expect(await portConflicts()).to.deep.equal([keys.portConflict(TENANT, `node_${name}`)]);
    await put(makeDeployment({ ...PORTED, metadata: makeMetadata('dep_1', 2), replicas: 0 }));
    await cluster.clock.pass(2000);
    return name!;
  };

  it('delete every record of a removed node', async () => {
    const name = await emptied();
    await cluster.erase(keys.node(TENANT, name));
    await cluster.clock.pass(2000);
    expect(await readNodeStatus(name)).to.equal(undefined);
    expect(await portConflicts()).to.deep.equal([]);
  });

  it('delete every record of a node that was replaced under its name', async () => {
    const name = await emptied();
    const node = await cluster.get<StoredNode>(keys.node(TENANT, name));
    await cluster.put(keys.node(TENANT, name), { ...node, id: 'node_anew' });
    await cluster.clock.pass(2000);
    expect(await readNodeStatus(name)).to.include({ id: 'node_anew' });
    expect(await portConflicts()).to.deep.equal([]);
  });

  it('keep replicas on a draining node that no other node can take, and write nothing more', async () => {
    await begin({ replicas: 1, nodeId: 'node_one' });
    await order('one', { drain: ORDER });
    await cluster.clock.pass(10_000);
    const before = await cluster.store.list('replicas/');
    await cluster.clock.pass(60_000);

    expect(await places()).to.deep.equal(['node_one']);
    expect((await cluster.store.list('replicas/')).entries).to.deep.equal(before.entries);
    expect(await cluster.status()).to.include({ phase: 'Running' });
  });

  it('start no replica of a deployment beyond the quota of deployments until another is removed', async () => {
    cluster.controllers('a', { ...defaultPolicy, quotas: { deployments: 1 } });
    await cluster.clock.pass(1000);
    await put(makeDeployment());
    await put(makeDeployment({ metadata: makeMetadata('dep_2'), name: 'late', replicas: 1 }));
    await cluster.clock.pass(2000);
    expect(await cluster.status()).to.include({ phase: 'Running' });
    expect(await cluster.status('late')).to.include({ phase: 'Unschedulable', readyReplicas: 0 });
    expect(await events('quota.reached')).to.have.length(1);

    await put(makeDeployment({ metadata: { ...makeMetadata('dep_1', 2), deletedAt: ORDER.since } }));
    await cluster.clock.pass(5000);
    expect(await cluster.status('late')).to.include({ phase: 'Running', readyReplicas: 1 });
  });
});
