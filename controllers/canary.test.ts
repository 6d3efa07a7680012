import { expect } from 'chai';

import type { ArchivedRevision } from '../crds/archive/index.js';
import { type CanaryAction, type StoredDeployment, toSpec } from '../crds/deployment/index.js';
import type { StoredEvent } from '../crds/event/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import type { Replica } from '../crds/replica/index.js';
import type { Report } from '../crds/report/index.js';
import { type CanaryOrder, computeContentHash, type RolloutRecord } from '../crds/rollout/index.js';
import { buildRevision } from '../pkg/history/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';

const healthCheck = { type: 'exec', command: ['check'] } as const;
const rollout = {
  maxSurge: 1,
  maxUnavailable: 0,
  progressDeadline: '1m',
  autoRollback: true,
  canary: { replicas: 1, hold: '5m' },
};
const { canary: _, ...plain } = rollout;
const patient = { ...rollout, canary: { replicas: 1 } };

describe('a canary', () => {
  let cluster: TestCluster;
  let leader: AbortController;

  beforeEach(async () => {
    cluster = new TestCluster();
    leader = cluster.controllers('a');
    for (const name of ['n1', 'n2', 'n3']) await cluster.enrol(name);
    await cluster.clock.pass(2_000);
  });
  afterEach(() => cluster.close());

  /** Stores a revision as the API does: the record and its archive entry. */
  const apply = async (generation: number, change: Partial<StoredDeployment> = {}): Promise<void> => {
    const deployment = makeDeployment({ replicas: 3, healthCheck, rollout, ...change });
    const updatedAt = new Date(cluster.clock.now()).toISOString();
    const { puts } = buildRevision(
      toSpec(deployment),
      specHash => ({ ...makeMetadata('dep_1', generation), updatedAt, specHash }),
      { change: generation === 1 ? 'create' : 'update', by: 'tok', operation: `op-${generation}`, alterations: [] },
    );
    for (const { key, bytes } of puts) await cluster.put(key, JSON.parse(bytes.toString()));
  };
  const stored = () => cluster.get<StoredDeployment>(keys.deployment(TENANT, 'web'));
  const recorded = () => cluster.get<RolloutRecord>(keys.rollout(TENANT, 'web'));
  const replicas = () => cluster.all<Replica>(ranges.replicasOf(TENANT, 'web'));
  const images = async () =>
    (await replicas())
      .filter(each => !each.retiringSince)
      .map(each => each.template.image)
      .sort();
  const events = async (type: string) =>
    (await cluster.all<StoredEvent>(ranges.events)).filter(event => event.type === `deployment.${type}`);
  const breakImage = (image: string) => {
    cluster.healthOf = ({ template }) => (template.image === image ? 'unhealthy' : 'healthy');
  };
  /** Has the agents say how every container is now. */
  const reportAll = async () => {
    for (const replica of await replicas()) if (replica.nodeId) await cluster.report(replica);
  };
  const order = async (action: CanaryAction) => {
    const deployment = (await stored())!;
    const given: CanaryOrder = {
      uid: deployment.metadata.uid,
      contentHash: computeContentHash(deployment),
      action,
      by: 'tok_ops',
      at: new Date(cluster.clock.now()).toISOString(),
    };
    await cluster.put(keys.canaryOrder(TENANT, 'web'), given);
  };
  /** A complete revision 1 of web:1, and a canary of web:2 that is healthy. */
  const begin = async (change: Partial<StoredDeployment> = {}) => {
    breakImage('none');
    await apply(1, change);
    await cluster.clock.pass(10_000);
    await apply(2, { image: 'web:2', ...change });
    await cluster.clock.pass(20_000);
  };

  it('holds the new template on so many replicas, says so, and lets the rest follow when its hold is over', async () => {
    await begin();
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    const during = await cluster.status();
    expect(during).to.include({ phase: 'Progressing', readyReplicas: 3, updatedReplicas: 1, revision: 1 });
    expect(during?.rollout).to.include({ state: 'canary', revision: 2, completedRevision: 1 });
    expect(during?.canary).to.deep.include({ state: 'holding', revision: 2, slots: [3], wanted: 1 });
    expect(during?.canary?.compared).to.deep.equal({
      canary: { replicas: 1, ready: 1, unhealthy: 0, restarts: 0, exitCodes: [] },
      others: { replicas: 2, ready: 2, unhealthy: 0, restarts: 0, exitCodes: [] },
    });
    expect(during?.canary?.waitsFor).to.include('moor canary promote web');
    expect(during?.conditions.find(({ type }) => type === 'Progressing')).to.include({ reason: 'CanaryHeld' });
    expect(await events('canary_started')).to.have.length(1);

    await cluster.clock.pass(240_000);
    expect(await images(), 'it waits for its whole hold').to.deep.equal(['web:1', 'web:1', 'web:2']);
    await cluster.clock.pass(90_000);
    expect(await images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
    const after = await cluster.status();
    expect(after).to.include({ phase: 'Running', revision: 2 }).and.not.to.have.property('canary');
    expect(after?.rollout).to.nested.include({ state: 'complete', 'lastCanary.outcome': 'promoted' });
    expect((await recorded())?.canary).to.equal(undefined);
    for (const type of ['canary_promoted', 'rollout_completed']) expect(await events(type)).to.have.length(1);
  });

  it('waits for an order where it has no hold; promoting lets the rest follow', async () => {
    await begin({ rollout: patient });
    await cluster.clock.pass(3_600_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    await order('promote');
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
    expect((await events('canary_promoted'))[0]?.message).to.include('promoted by tok_ops');
    expect(await cluster.get(keys.canaryOrder(TENANT, 'web'))).to.equal(undefined);
  });

  it('that is aborted goes back to the last complete template as a new revision, also without autoRollback', async () => {
    await begin({ rollout: { ...patient, autoRollback: false } });
    await order('abort');
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    const after = await stored();
    expect(after?.metadata.generation).to.equal(3);
    expect(after?.image).to.equal('web:1');
    const archived = await cluster.get<ArchivedRevision>(keys.archive(TENANT, 'dep_1', 3));
    expect(archived).to.include({ change: 'rollback', fromRevision: 1 });
    expect(archived?.reason).to.include('aborted by tok_ops');
    const status = await cluster.status();
    expect(status).to.include({ phase: 'Running' });
    expect(status?.rollout).to.nested.include({ 'lastCanary.outcome': 'aborted' }).and.not.to.have.property('failure');
    expect(await events('canary_aborted')).to.have.length(1);
    expect(await events('rollout_failed')).to.have.length(0);
  });

  it('that turns unhealthy aborts by itself, with the reason', async () => {
    await begin();
    breakImage('web:2');
    await reportAll();
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    const [aborted] = await events('canary_aborted');
    expect(aborted).to.include({ reason: 'unhealthy', severity: 'warning' });
    expect(aborted?.message).to.match(/worse than the others: 1 of 1 .* fail, 0 of 2 .*: replica 3: its health check/);
    expect(await events('rolled_back')).to.have.length(1);
    expect((await cluster.status())?.rollout?.failure).to.include({ revision: 2, rolledBackTo: 1 });
  });

  it('is not blamed for what ails the others as well: its hold begins anew', async () => {
    await begin();
    cluster.healthOf = () => 'unhealthy';
    await reportAll();
    await cluster.clock.pass(30_000);
    expect((await stored())?.metadata.generation).to.equal(2);
    expect((await recorded())?.canary).to.not.have.property('healthy');
    breakImage('none');
    await reportAll();
    await cluster.clock.pass(290_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    await cluster.clock.pass(60_000);
    expect(await images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
  });

  it('whose container restarts, once it was healthy, aborts by itself', async () => {
    await begin();
    const canary = (await replicas()).find(({ template }) => template.image === 'web:2')!;
    const key = keys.report(TENANT, canary.nodeId!, canary.uid);
    const report = (await cluster.get<Report>(key))!;
    const lastEnd = { exitCode: 3, at: new Date(cluster.clock.now()).toISOString() };
    await cluster.put(key, { ...report, restarts: 1, lastEnd });
    await cluster.clock.pass(20_000);
    expect((await events('canary_aborted'))[0]?.message).to.include('its program ended with exit code 3');
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
  });

  it('that never becomes healthy misses the progress deadline and aborts by itself', async () => {
    breakImage('none');
    await apply(1);
    await cluster.clock.pass(10_000);
    cluster.healthOf = ({ template }) => (template.image === 'web:2' ? 'starting' : 'healthy');
    await apply(2, { image: 'web:2' });
    await cluster.clock.pass(90_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect((await events('canary_aborted'))[0]?.message).to.include('made no progress within 1m');
  });

  it('that fails without autoRollback stays as it is until an order', async () => {
    await begin({ rollout: { ...rollout, autoRollback: false } });
    breakImage('web:2');
    await reportAll();
    await cluster.clock.pass(600_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    const status = await cluster.status();
    expect(status).to.include({ phase: 'Failed' });
    expect(status?.canary).to.include({ state: 'failed' });
    breakImage('none');
    await reportAll();
    await cluster.clock.pass(600_000);
    expect(await images(), 'its hold does not run any more').to.deep.equal(['web:1', 'web:1', 'web:2']);
    await order('promote');
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
    expect((await cluster.status())?.phase).to.equal('Running');
  });

  it('that has failed without autoRollback is not promoted by a later revision of the same content', async () => {
    const stays = { ...rollout, autoRollback: false };
    await begin({ rollout: stays });
    breakImage('web:2');
    await reportAll();
    await cluster.clock.pass(20_000);
    breakImage('none');
    await reportAll();
    await cluster.clock.pass(20_000);
    await apply(3, { image: 'web:2', rollout: stays, replicas: 4 });
    await cluster.clock.pass(900_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1', 'web:2']);
    const status = await cluster.status();
    expect(status).to.include({ phase: 'Failed' });
    expect(status?.canary).to.include({ state: 'failed' });
    expect(status?.canary?.waitsFor).to.include('an order, because it has failed');
    await order('abort');
    await cluster.clock.pass(30_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1', 'web:1']);
    expect(await cluster.status()).to.include({ phase: 'Running' });
  });

  it('is not for the first rollout of a deployment, nor for a change that recreates nothing, nor for a rotation', async () => {
    breakImage('none');
    await apply(1);
    await cluster.clock.pass(10_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    await apply(2, { replicas: 4 });
    await cluster.clock.pass(10_000);
    await apply(3, { replicas: 4, secretsVersion: 1 });
    await cluster.clock.pass(60_000);
    expect((await replicas()).map(({ template }) => template.secretsVersion)).to.deep.equal([1, 1, 1, 1]);
    expect(await events('canary_started')).to.have.length(0);
  });

  it('goes on when the number of replicas changes, and is bounded by it', async () => {
    await begin({ rollout: { ...patient, canary: { replicas: 2 } } });
    expect(await images()).to.deep.equal(['web:1', 'web:2', 'web:2']);
    const change = { image: 'web:2', rollout: { ...patient, canary: { replicas: 2 } } };
    await apply(3, { ...change, replicas: 5 });
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1', 'web:2', 'web:2']);
    await apply(4, { ...change, replicas: 2 });
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:2']);
    await apply(5, { ...change, replicas: 0 });
    await cluster.clock.pass(20_000);
    await apply(6, { ...change, replicas: 3 });
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:2', 'web:2']);
    expect(await events('canary_started')).to.have.length(1);
  });

  it('of one replica runs beside the old one, or in its place where that is impossible', async () => {
    await begin({ replicas: 1, rollout: patient });
    expect(await images()).to.deep.equal(['web:1', 'web:2']);
    await order('promote');
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:2']);

    const tight = { ...patient, maxSurge: 0, maxUnavailable: 1 };
    await apply(3, { replicas: 1, image: 'web:3', rollout: tight });
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:3']);
    expect(await cluster.status()).to.include({ phase: 'Progressing', readyReplicas: 1 });
    breakImage('web:3');
    await reportAll();
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:2']);
  });

  it('is superseded by another template, and over with the one that was complete last', async () => {
    await begin({ rollout: patient });
    await apply(3, { image: 'web:3', rollout: patient });
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:3']);
    expect((await events('canary_aborted')).map(({ reason }) => reason)).to.deep.equal(['canary_superseded']);
    await apply(4, { rollout: patient });
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect((await recorded())?.canary).to.equal(undefined);
    await apply(5, { image: 'web:3', rollout: patient });
    await cluster.clock.pass(20_000);
    expect(await images(), 'the same template again has a canary again').to.deep.equal(['web:1', 'web:1', 'web:3']);
    await apply(6, { image: 'web:3', rollout: plain });
    await cluster.clock.pass(20_000);
    expect(await images(), 'without a canary the rest follows').to.deep.equal(['web:3', 'web:3', 'web:3']);
  });

  it('does not begin, nor go on, while the rollout is paused, and an old replica that is lost comes back as it was', async () => {
    breakImage('none');
    await apply(1);
    await cluster.clock.pass(10_000);
    const paused = { ...rollout, paused: true };
    await apply(2, { image: 'web:2', rollout: paused });
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    await apply(3, { image: 'web:2' });
    await cluster.clock.pass(20_000);
    await apply(4, { image: 'web:2', rollout: paused });
    await cluster.clock.pass(600_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    await apply(5, { image: 'web:2' });
    await cluster.clock.pass(20_000);

    for (const { template, nodeId } of await replicas()) {
      if (template.image === 'web:1') await cluster.erase(keys.node(TENANT, nodeId!.slice('node_'.length)));
    }
    await cluster.clock.pass(30_000);
    expect(await images(), 'no old replica was left to copy').to.deep.equal(['web:1', 'web:1', 'web:2']);
    await cluster.clock.pass(320_000);
    expect(await images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
  });

  it('says that it is not judged while it is paused or waits for a dependency, and is judged afterwards', async () => {
    const dependsOn = [{ name: 'db', condition: 'healthy' }] as const;
    const db = { ...makeDeployment({ name: 'db', replicas: 1 }), metadata: makeMetadata('dep_2', 1) };
    await cluster.put(keys.deployment(TENANT, 'db'), db);
    await begin({ dependsOn });
    await apply(3, { image: 'web:2', dependsOn, rollout: { ...rollout, paused: true } });
    breakImage('web:2');
    await reportAll();
    await cluster.clock.pass(60_000);
    expect((await cluster.status())?.canary?.waitsFor).to.match(
      /^it is paused, and not judged meanwhile: .*resume web/,
    );
    await cluster.erase(keys.deployment(TENANT, 'db'));
    await apply(4, { image: 'web:2', dependsOn });
    await cluster.clock.pass(60_000);
    expect((await cluster.status())?.canary?.waitsFor).to.match(/^db, which .*; it is not judged meanwhile$/);
    expect(await events('canary_aborted')).to.have.length(0);
    await cluster.put(keys.deployment(TENANT, 'db'), db);
    await cluster.clock.pass(60_000);
    expect(await events('canary_aborted')).to.have.length(1);
  });

  it('that only names a node comes to rest, whatever is on that node already', async () => {
    await begin({ image: 'web:1', rollout: patient });
    const before = await replicas();
    await apply(3, { rollout: patient, nodeId: before[0]!.nodeId! });
    await cluster.clock.pass(60_000);
    const during = await replicas();
    const kept = during.filter(({ uid }) => before.some(each => each.uid === uid));
    expect([during.length, kept.length]).to.deep.equal([3, 2]);
    const status = await cluster.status();
    expect(status).to.include({ updatedReplicas: 1, readyReplicas: 3 });
    expect(status?.canary).to.include({ state: 'holding' }).and.to.nested.include({ 'slots.length': 1 });
    await cluster.clock.pass(60_000);
    expect((await replicas()).map(({ uid }) => uid)).to.deep.equal(during.map(({ uid }) => uid));
    await order('promote');
    await cluster.clock.pass(60_000);
    expect(await cluster.status()).to.include({ phase: 'Running', updatedReplicas: 3 });
    expect(new Set((await replicas()).map(({ nodeId }) => nodeId))).to.deep.equal(new Set([before[0]!.nodeId]));
  });

  it('goes on where it was, whichever controllers lead, and its hold is not begun anew', async () => {
    await begin();
    for (const holder of ['bb', 'ccc', 'dddd']) {
      leader.abort();
      leader = cluster.controllers(holder);
      await cluster.clock.pass(60_000);
      expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    }
    leader.abort();
    await order('abort');
    await cluster.clock.pass(30_000);
    cluster.controllers('eeeee');
    await cluster.clock.pass(30_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect(await events('canary_started')).to.have.length(1);
    expect(await events('canary_aborted')).to.have.length(1);
  });

  it('does not heed an order that was given for another one', async () => {
    await begin({ rollout: patient });
    const given: CanaryOrder = { uid: 'dep_1', contentHash: 'other', action: 'promote', by: 'tok', at: '' };
    await cluster.put(keys.canaryOrder(TENANT, 'web'), given);
    await cluster.clock.pass(20_000);
    expect(await images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    expect(await cluster.get(keys.canaryOrder(TENANT, 'web'))).to.equal(undefined);
  });
});
