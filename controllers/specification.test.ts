import { expect } from 'chai';

import type { StoredDeployment } from '../crds/deployment/index.js';
import type { StoredEvent } from '../crds/event/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import type { StoredNode } from '../crds/node/index.js';
import type { Report } from '../crds/report/index.js';
import { defaultPolicy } from '../pkg/fleet/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';

/** Sentences of the specification about placement that no other test says. */
describe('the specification, carried out by the controllers:', () => {
  let cluster: TestCluster;
  beforeEach(() => {
    cluster = new TestCluster();
  });
  afterEach(() => cluster.close());

  const put = async (spec: StoredDeployment) => {
    await cluster.put(keys.deployment(TENANT, spec.name), spec);
    await cluster.clock.pass(3000);
  };
  const begin = async (...nodes: readonly string[]) => {
    cluster.controllers('a');
    for (const name of nodes) await cluster.enrol(name);
    await cluster.clock.pass(2000);
  };
  const containers = async () => (await cluster.all<Report>(ranges.reports)).length;
  const unschedulable = async () =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(({ type }) => type === 'deployment.unschedulable').length;

  const filters: readonly [name: string, change: Partial<StoredDeployment>][] = [
    ['[3.6] a label constraint', { placement: { constraints: [{ key: 'disk', operator: 'In', values: ['ssd'] }] } }],
    ['a named node', { nodeId: 'node_gone' }],
    [
      'an anti-affinity',
      { placement: { antiAffinity: { self: false, deployments: ['other'], topologyKey: 'example.com/rack' } } },
    ],
    ['[3.5] a request for more than any node has', { resources: { cpu: '1500m' } }],
  ];
  for (const [name, change] of filters) {
    it(`[2.7.22 3.9 6.1] ${name} that no node satisfies leaves no place to run, no container, and an event`, async () => {
      await begin('n1', 'n2');
      await put(makeDeployment({ replicas: 1, ...change }));

      expect(await cluster.status()).to.include({ phase: 'Unschedulable', replicas: 0, readyReplicas: 0 });
      expect(await cluster.whereabouts()).to.deep.equal(['nowhere']);
      expect([await containers(), await unschedulable()]).to.deep.equal([0, 1]);
    });
  }

  it('[3.29] a request larger than what any single node has free is not split over several', async () => {
    await begin('n1', 'n2');
    await put(makeDeployment({ replicas: 1, resources: { cpu: '1500m' } }));
    expect(await cluster.whereabouts()).to.deep.equal(['nowhere']);

    await put(makeDeployment({ metadata: makeMetadata('dep_1', 2), replicas: 2, resources: { cpu: '750m' } }));
    expect((await cluster.whereabouts()).toSorted()).to.deep.equal(['node_n1', 'node_n2']);
  });

  it('[3.23 3.24 3.25 3.26 3.27 3.28] the node that the control plane runs on keeps what is placed on it, accepts nothing new, and is no fault', async () => {
    await begin('n1');
    await put(makeDeployment({ replicas: 1 }));
    const lease = await cluster.enrol('n1');
    const record = await cluster.get<StoredNode>(keys.node(TENANT, 'n1'));
    await cluster.put(keys.node(TENANT, 'n1'), { ...record, controlPlane: true });
    const platform = keys.platform('n1', 'server-1');
    await cluster.put(keys.nodeName('n1'), { claims: [{ tenant: TENANT, since: record!.metadata.createdAt }] });
    await cluster.put(platform, { program: 'server', since: record!.metadata.createdAt });
    await cluster.clock.pass(2000);
    await cluster.store.revoke(lease);
    await put(makeDeployment({ metadata: makeMetadata('dep_1', 2) }));

    expect(await cluster.whereabouts()).to.deep.equal(['node_n1', 'nowhere']);
    expect(await cluster.get(keys.nodeStatus(TENANT, 'n1'))).to.include({ status: 'ready' });
    expect(await cluster.status()).to.include({ readyReplicas: 1 });
    const types = async () => (await cluster.all<StoredEvent>(ranges.events)).map(({ type }) => type);
    expect(await types())
      .to.not.include('node.failed')
      .and.not.include('deployment.degraded');

    // Its liveness is read from the platform’s own record while fresh; afterwards its containers are unknown.
    await cluster.erase(platform);
    await cluster.clock.pass(2000);
    expect(await cluster.get(keys.nodeStatus(TENANT, 'n1'))).to.include({
      status: 'ready',
      reason: 'platform_record_stale',
    });
    const [first] = (await cluster.status())!.placements;
    expect(first).to.include({ nodeName: 'n1', state: 'unknown', health: 'unknown', reason: 'node_failed' });
    expect(await types())
      .to.not.include('node.failed')
      .and.not.include('node.engine_unreachable');
    await cluster.put(platform, { program: 'server', since: record!.metadata.createdAt });
    await cluster.clock.pass(2000);
    expect(await cluster.status()).to.include({ readyReplicas: 1 });

    const named = { metadata: makeMetadata('dep_other'), name: 'other', replicas: 1, nodeId: 'node_n1' };
    await put(makeDeployment(named));
    expect(await cluster.whereabouts('other'), 'nothing on a deployment overrides this').to.deep.equal(['nowhere']);
  });

  it('[3.33 8.12] a quota that is lowered below what runs stops no container, and lets no new one start', async () => {
    cluster.controllers('a', { ...defaultPolicy, quotas: { containers: 3 } });
    await cluster.enrol('n1');
    await cluster.clock.pass(2000);
    await put(makeDeployment({ replicas: 3 }));
    expect(await containers()).to.equal(3);

    await cluster.put(keys.tenant(TENANT), { id: TENANT, name: 't', platform: false, quotas: { containers: 1 } });
    await cluster.clock.pass(60_000);
    expect(await cluster.status()).to.include({ phase: 'Running', readyReplicas: 3 });
    await put(makeDeployment({ metadata: makeMetadata('dep_1', 2), replicas: 4 }));
    expect(await cluster.whereabouts()).to.deep.equal(['node_n1', 'node_n1', 'node_n1', 'nowhere']);
    expect(await containers()).to.equal(3);
  });

  it('[2.2.14 3.12] a deployment with replicas 0 is stopped, and neither deleted nor forgotten', async () => {
    await begin('n1');
    await put(makeDeployment());
    await put(makeDeployment({ metadata: makeMetadata('dep_1', 2), replicas: 0 }));

    expect(await cluster.status()).to.include({ phase: 'Stopped' });
    expect(await cluster.whereabouts()).to.deep.equal([]);
    expect(await cluster.get(keys.deployment(TENANT, 'web'))).to.include({ name: 'web', replicas: 0 });
  });
});
