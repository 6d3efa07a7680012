import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import { type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import { buildRevision } from '../../pkg/history/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';

const healthCheck = { type: 'exec', command: ['check'] } as const;
const rollout = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '1m', autoRollback: true };

describe('a rollout', () => {
  let cluster: TestCluster;

  beforeEach(async () => {
    cluster = new TestCluster();
    cluster.controllers('a');
    await cluster.enrol('n1');
    await cluster.enrol('n2');
    await cluster.clock.pass(2_000);
  });
  afterEach(() => cluster.close());

  /** Stores a revision as the API does: the record and its archive entry. */
  const apply = async (
    generation: number,
    change: Partial<StoredDeployment>,
    base: Partial<StoredDeployment> = { healthCheck },
  ): Promise<void> => {
    const deployment = makeDeployment({ ...base, rollout, ...change });
    const updatedAt = new Date(cluster.clock.now()).toISOString();
    const { puts } = buildRevision(
      toSpec(deployment),
      specHash => ({ ...makeMetadata('dep_1', generation), updatedAt, specHash }),
      { change: generation === 1 ? 'create' : 'update', by: 'tok', operation: `op-${generation}`, alterations: [] },
    );
    for (const { key, bytes } of puts) await cluster.put(key, JSON.parse(bytes.toString()));
  };
  const stored = () => cluster.get<StoredDeployment>(keys.deployment(TENANT, 'web'));
  const images = async () =>
    (await cluster.all<Replica>(ranges.replicasOf(TENANT, 'web')))
      .filter(each => !each.retiringSince)
      .map(each => each.template.image);
  const events = async (type: string) =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(event => event.type === type);
  /** Lets every container of an image be unhealthy. */
  const breakImage = (image: string) => {
    cluster.healthOf = ({ template }) => (template.image === image ? 'unhealthy' : 'healthy');
  };

  const complete = async () => {
    breakImage('none');
    await apply(1, {});
    await cluster.clock.pass(5_000);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await cluster.get<RolloutRecord>(keys.rollout(TENANT, 'web'))).to.nested.include({
      'completed.revision': 1,
    });
  };

  it('that makes no progress within its deadline is rolled back to the last complete revision, as a new one', async () => {
    await complete();
    breakImage('web:2');
    await apply(2, { image: 'web:2' });
    await cluster.clock.pass(30_000);
    const during = await cluster.status();
    expect(during).to.include({ phase: 'Progressing', readyReplicas: 2, updatedReplicas: 1 });
    expect(during?.rollout).to.include({ state: 'progressing', revision: 2, completedRevision: 1 });
    expect(during?.rollout?.waitsFor).to.match(/^replica 2: its health check "check" fails/);

    await cluster.clock.pass(60_000);
    const after = await stored();
    expect(after).to.deep.include({ image: 'web:1' });
    expect(after?.metadata.generation).to.equal(3);
    const archived = await cluster.get<ArchivedRevision>(keys.archive(TENANT, 'dep_1', 3));
    expect(archived).to.include({ change: 'rollback', by: 'replica-keeper', fromRevision: 1 });
    expect(archived?.reason).to.include('made no progress within 1m: replica 2');

    await cluster.clock.pass(10_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1']);
    const status = await cluster.status();
    expect(status).to.include({ phase: 'Running', observedGeneration: 3 });
    expect(status?.rollout).to.nested.include({ state: 'complete', 'failure.revision': 2, 'failure.rolledBackTo': 1 });
    expect((await events('deployment.rollout_failed')).map(({ reason }) => reason)).to.deep.equal(['unhealthy']);
    expect((await events('deployment.rolled_back')).length).to.equal(1);
    for (const [type, count] of [
      ['deployment.rollout_failed', 1],
      ['deployment.rolled_back', 1],
      ['deployment.rollout_completed', (await events('deployment.rollout_completed')).length],
    ] as const) {
      expect(await cluster.counted(type), type)
        .to.equal(count)
        .and.be.above(0);
    }

    await cluster.clock.pass(300_000);
    expect((await stored())?.metadata.generation, 'nothing is rolled back twice').to.equal(3);
  });

  it('goes back to the newest configuration of the complete template', async () => {
    await complete();
    await apply(2, { replicas: 3 });
    await cluster.clock.pass(5_000);
    breakImage('web:2');
    await apply(3, { image: 'web:2', replicas: 3 });
    await cluster.clock.pass(70_000);
    expect(await stored()).to.deep.include({ image: 'web:1', replicas: 3 });
    expect((await cluster.get<ArchivedRevision>(keys.archive(TENANT, 'dep_1', 4)))?.fromRevision).to.equal(2);
  });

  it('fails and stays when it is not to be rolled back, and recovers by itself', async () => {
    await complete();
    breakImage('web:2');
    await apply(2, { image: 'web:2', rollout: { ...rollout, autoRollback: false } });
    await cluster.clock.pass(70_000);
    const failed = await cluster.status();
    expect(failed).to.include({ phase: 'Failed', readyReplicas: 2 });
    expect(failed?.message).to.include('revision 2 made no progress within 1m: replica 2: its health check');
    expect(failed?.conditions.find(({ type }) => type === 'Progressing')).to.include({
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
    });
    expect((await stored())?.metadata.generation).to.equal(2);

    breakImage('none');
    for (const replica of await cluster.all<Replica>(ranges.replicas)) await cluster.report(replica);
    await cluster.clock.pass(10_000);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await images()).to.deep.equal(['web:2', 'web:2']);
    expect((await cluster.status())?.rollout).to.deep.equal({ state: 'complete', revision: 2, completedRevision: 2 });
  });

  it('of a new deployment fails without anything to go back to', async () => {
    breakImage('web:1');
    await apply(1, {});
    await cluster.clock.pass(70_000);
    expect((await cluster.status())?.phase).to.equal('Failed');
    expect((await events('deployment.rolled_back')).length).to.equal(0);
  });

  it('that is paused replaces nothing and misses no deadline', async () => {
    await complete();
    await apply(2, { image: 'web:2', rollout: { ...rollout, paused: true } });
    await cluster.clock.pass(120_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1']);
    const status = await cluster.status();
    const waitsFor = '"moor rollout resume web", because it is paused';
    expect(status?.rollout).to.include({ state: 'paused', waitsFor });
    expect(status?.conditions.find(({ type }) => type === 'Progressing')).to.include({ reason: 'Paused' });
    await apply(3, { image: 'web:2' });
    await cluster.clock.pass(10_000);
    expect(await images()).to.deep.equal(['web:2', 'web:2']);
  });

  /** Has the agents say how every container is now. */
  const reportAll = async (matters: (replica: Replica) => boolean = () => true) => {
    const replicas = await cluster.all<Replica>(ranges.replicas);
    for (const replica of replicas) if (replica.nodeId && matters(replica)) await cluster.report(replica);
  };
  /** Lets the containers of an image take their time; those of all others are healthy. */
  const slowImage = (image: string) => {
    cluster.healthOf = ({ template }) => (template.image === image ? 'starting' : 'healthy');
  };
  const expectRolledOut = async (image: string, generation: number) => {
    breakImage('none');
    await reportAll();
    await cluster.clock.pass(10_000);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(new Set(await images())).to.deep.equal(new Set([image]));
    expect((await stored())?.metadata.generation).to.equal(generation);
    expect(await events('deployment.rollout_failed')).to.deep.equal([]);
  };

  it('of a new deployment has its whole deadline from when a node takes it', async () => {
    cluster.close();
    cluster = new TestCluster();
    cluster.controllers('a');
    slowImage('web:1');
    await apply(1, {});
    await cluster.clock.pass(300_000);
    await cluster.enrol('n1');
    await cluster.clock.pass(50_000);
    await expectRolledOut('web:1', 1);
  });

  it('has its whole deadline after a dependency has returned', async () => {
    const db = makeDeployment({ name: 'db', metadata: makeMetadata('dep_db'), image: 'db', replicas: 1, healthCheck });
    await cluster.put(keys.deployment(TENANT, 'db'), db);
    const dependsOn = [{ name: 'db', condition: 'healthy' }] as const;
    breakImage('none');
    await apply(1, { dependsOn });
    await cluster.clock.pass(10_000);
    slowImage('web:2');
    await apply(2, { image: 'web:2', dependsOn });
    await cluster.clock.pass(20_000);
    cluster.healthOf = ({ template }) =>
      template.image === 'db' ? 'unhealthy' : template.image === 'web:2' ? 'starting' : 'healthy';
    await reportAll();
    await cluster.clock.pass(300_000);
    slowImage('web:2');
    await reportAll();
    await cluster.clock.pass(50_000);
    await expectRolledOut('web:2', 2);
  });

  it('has its whole deadline after nobody has kept it for longer than that', async () => {
    cluster.close();
    cluster = new TestCluster();
    const first = cluster.controllers('a');
    await cluster.enrol('n1');
    await complete();
    slowImage('web:2');
    await apply(2, { image: 'web:2' });
    await cluster.clock.pass(10_000);
    first.abort();
    await cluster.clock.pass(300_000);
    cluster.controllers('bb');
    await cluster.clock.pass(50_000);
    await expectRolledOut('web:2', 2);
  });

  it('whose old containers take longer to stop than its deadline is no failure', async () => {
    breakImage('none');
    await apply(1, { stopGracePeriod: '5m' });
    await cluster.clock.pass(5_000);
    cluster.agentsWork = false;
    await apply(2, { image: 'web:2', stopGracePeriod: '5m' });
    const stalls: string[] = [];
    for (let seconds = 0; seconds < 700; seconds += 10) {
      await cluster.clock.pass(10_000);
      const due = new Date(cluster.clock.now() - 290_000).toISOString();
      await reportAll(({ retiringSince }) => retiringSince === undefined || retiringSince <= due);
      const stalled = (await cluster.status())?.conditions.find(({ type }) => type === 'Stalled');
      if (stalled?.status === 'True') stalls.push(stalled.message);
    }
    await expectRolledOut('web:2', 2);
    expect(stalls).to.deep.equal([]);
  });

  it('goes back to the old containers only: not to the pause and the number of replicas of then', async () => {
    await complete();
    const paused = { ...rollout, paused: true };
    await apply(2, { rollout: paused });
    await apply(3, { image: 'web:2', rollout: paused, replicas: 3 });
    breakImage('web:2');
    await apply(4, { image: 'web:2', replicas: 3 });
    await cluster.clock.pass(90_000);
    expect(await stored()).to.deep.include({ image: 'web:1', replicas: 3, rollout });
    expect((await cluster.status())?.phase).to.equal('Running');
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
  });

  const refusals: readonly (readonly [Partial<StoredDeployment>, RegExp])[] = [
    [{}, /it has no health check, for which shop waits/],
    [{ nodeId: 'node_n1', healthCheck }, /it names node node_n1, which does not exist any more/],
    [{ networks: ['front', 'removed'], healthCheck }, /it names network removed, which does not exist any more/],
    [{ networks: ['front', 'moved'], healthCheck }, /it names network moved, which is on another node/],
  ];
  const putNetwork = (name: string, nodeId: string) => {
    const network = { name, driver: 'bridge', labels: {}, internal: false, nodeId };
    return cluster.put(keys.network(TENANT, name), { metadata: makeMetadata(`net_${name}`), ...network });
  };
  for (const [first, because] of refusals) {
    it(`is not brought back to what would be refused: ${because.source}`, async () => {
      breakImage('none');
      for (const name of ['front', 'removed', 'moved']) await putNetwork(name, 'node_n2');
      await apply(1, first, {});
      await cluster.clock.pass(10_000);
      breakImage('web:2');
      await apply(2, { image: 'web:2', nodeId: 'node_n2' });
      const dependsOn = [{ name: 'web', condition: 'healthy' }] as const;
      await cluster.put(
        keys.deployment(TENANT, 'shop'),
        makeDeployment({ name: 'shop', metadata: makeMetadata('dep_shop'), replicas: 1, dependsOn }),
      );
      await cluster.clock.pass(20_000);
      await cluster.erase(keys.node(TENANT, 'n1'));
      await cluster.erase(keys.network(TENANT, 'removed'));
      await putNetwork('moved', 'node_n1');
      await cluster.clock.pass(70_000);
      expect((await stored())?.metadata.generation).to.equal(2);
      const status = await cluster.status();
      expect(status?.phase).to.equal('Failed');
      expect(status?.rollout?.failure?.message)
        .to.match(/made no progress/)
        .and.to.match(because);
      expect((await events('deployment.rolled_back')).length).to.equal(0);
    });
  }

  it('stores its failure and its rollback together or not at all, whichever controllers lead', async () => {
    await complete();
    const second = cluster.controllers('bb');
    breakImage('web:2');
    await apply(2, { image: 'web:2' });
    await cluster.clock.pass(50_000);
    second.abort();
    await cluster.clock.pass(60_000);
    expect((await stored())?.metadata.generation).to.equal(3);
    expect((await events('deployment.rollout_failed')).length).to.equal(1);
  });
});
