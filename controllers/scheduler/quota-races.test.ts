import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { defaultPolicy } from '../../pkg/fleet/index.js';
import { type Change, OutcomeUnknownFault, type Verdict } from '../../pkg/store/index.js';
import { makeDeployment, interceptCommits, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

const named = (name: string, replicas = 1) => makeDeployment({ metadata: makeMetadata(`dep_${name}`), name, replicas });

/** Whether a change gives a replica of the deployment its node. */
const places = ({ puts }: Change, name: string) =>
  puts.some(({ key, bytes }) => key.startsWith(ranges.replicasOf(TENANT, name)) && bytes.includes('"nodeId"'));

describe('a quota that is nearly reached', () => {
  let cluster: TestCluster;
  /** Stands between the controllers and the store. */
  let meddle: (change: Change) => Promise<Verdict> | undefined;
  beforeEach(async () => {
    cluster = new TestCluster();
    meddle = () => undefined;
    const store = interceptCommits(cluster.store, change => meddle(change));
    cluster.controllers('a', { ...defaultPolicy, quotas: { containers: 1 } }, store);
    await cluster.enrol('n1');
    await cluster.clock.pass(1000);
  });
  afterEach(() => cluster.close());

  const put = (name: string, replicas?: number) => cluster.put(keys.deployment(TENANT, name), named(name, replicas));
  const quota = (containers: number) =>
    cluster.put(keys.tenant(TENANT), { id: TENANT, name: 't', platform: false, quotas: { containers } });
  const placed = async () => {
    const replicas = await cluster.all<Replica>(ranges.of(ranges.replicas, TENANT));
    return replicas.filter(({ nodeId }) => nodeId !== undefined).map(each => each.deployment);
  };

  it('is not exceeded by a placement whose reply was lost and that is committed late', async () => {
    let late: Change | undefined;
    let isAway = true;
    meddle = change => {
      if (!isAway || !places(change, 'one')) return undefined;
      late ??= change;
      return Promise.reject(new OutcomeUnknownFault());
    };
    await put('one');
    while (!late) await cluster.clock.pass(1);
    await put('two');
    await cluster.clock.pass(2000);
    await cluster.store.commit(late);
    isAway = false;
    await cluster.clock.pass(10_000);
    expect(await placed()).to.deep.equal(['one']);
  });

  it('[3.32] is not exceeded by a placement decided before it was lowered', async () => {
    let lowered = false;
    meddle = change => {
      if (lowered || !places(change, 'one')) return undefined;
      lowered = true;
      return quota(0).then(() => cluster.store.commit(change));
    };
    await put('one');
    await cluster.clock.pass(10_000);
    expect([lowered, await placed()]).to.deep.equal([true, []]);

    await quota(1);
    await cluster.clock.pass(2000);
    expect(await placed()).to.deep.equal(['one']);
  });

  it('is given to what waits when a placement that hid its room comes to nothing', async () => {
    const cpu = (name: string, asked: string, replicas = 1) =>
      cluster.put(keys.deployment(TENANT, name), { ...named(name, replicas), resources: { cpu: asked } });
    const quotas = { containers: 9, cpu: 400 };
    await cluster.put(keys.tenant(TENANT), { id: TENANT, name: 't', platform: false, quotas });
    await cpu('one', '200m');
    await cluster.clock.pass(2000);
    await cpu('two', '400m');
    await cluster.clock.pass(2000);
    meddle = change => (places(change, 'three') ? Promise.reject(new OutcomeUnknownFault()) : undefined);
    await cpu('three', '200m');
    await cluster.clock.pass(2000);
    await cpu('one', '200m', 0);
    await cluster.clock.pass(10_000);
    expect(await placed()).to.deep.equal([]);
    await cpu('three', '200m', 0);
    await cluster.clock.pass(30_000);
    expect(await placed()).to.deep.equal(['two']);
  });

  it('counts the replicas of a removed node until they are cleared', async () => {
    await put('one');
    await cluster.clock.pass(2000);
    let most = 0;
    meddle = change => {
      void placed().then(all => (most = Math.max(most, all.length)));
      // The replica keeper is slow.
      return change.deletes.includes(keys.replica(TENANT, 'one', 0))
        ? Promise.reject(new OutcomeUnknownFault())
        : undefined;
    };
    await cluster.enrol('n2');
    await put('two');
    await cluster.clock.pass(2000);
    const node = await cluster.store.get(keys.node(TENANT, 'n1'));
    await cluster.store.commit({ guards: [{ key: node!.key, at: node!.revision }], puts: [], deletes: [node!.key] });
    await cluster.clock.pass(10_000);

    expect([await placed(), most]).to.deep.equal([['one'], 1]);
  });
});
