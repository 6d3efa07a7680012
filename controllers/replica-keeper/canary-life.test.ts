import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import { keys } from '../../crds/keys/index.js';
import { computeTemplateHash, toContainerTemplate } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { type CanaryOrder, computeContentHash } from '../../crds/rollout/index.js';
import { CanaryLab, canaryRollout as rollout } from './canary-lab.testing.js';
import { makeDeployment, makeMetadata, TENANT } from '../test-cluster.testing.js';

const { canary: _, ...plain } = rollout;
const patient = { ...rollout, canary: { replicas: 1 } };

describe('a canary', () => {
  let lab: CanaryLab;

  beforeEach(async () => {
    lab = await new CanaryLab().start();
  });
  afterEach(() => lab.cluster.close());

  it('holds the new template on so many replicas, says so, and lets the rest follow when its hold is over', async () => {
    await lab.begin();
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    const during = await lab.cluster.status();
    expect(during).to.include({ phase: 'Progressing', readyReplicas: 3, updatedReplicas: 1, revision: 1 });
    expect(during?.rollout).to.include({ state: 'canary', revision: 2, completedRevision: 1 });
    expect(during?.canary).to.deep.include({ state: 'holding', revision: 2, slots: [3], wanted: 1 });
    expect(during?.canary?.compared).to.deep.equal({
      canary: { replicas: 1, ready: 1, unhealthy: 0, restarts: 0, exitCodes: [] },
      others: { replicas: 2, ready: 2, unhealthy: 0, restarts: 0, exitCodes: [] },
    });
    expect(during?.canary?.waitsFor).to.include('moor canary promote web');
    expect(during?.conditions.find(({ type }) => type === 'Progressing')).to.include({ reason: 'CanaryHeld' });
    expect(await lab.events('canary_started')).to.have.length(1);

    await lab.cluster.clock.pass(240_000);
    expect(await lab.images(), 'it waits for its whole hold').to.deep.equal(['web:1', 'web:1', 'web:2']);
    await lab.cluster.clock.pass(90_000);
    expect(await lab.images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
    const after = await lab.cluster.status();
    expect(after).to.include({ phase: 'Running', revision: 2 }).and.not.to.have.property('canary');
    expect(after?.rollout).to.nested.include({ state: 'complete', 'lastCanary.outcome': 'promoted' });
    expect((await lab.recorded())?.canary).to.equal(undefined);
    for (const type of ['canary_promoted', 'rollout_completed']) expect(await lab.events(type)).to.have.length(1);
    expect(await lab.cluster.counted('deployment.canary_started')).to.equal(1);
    expect(await lab.cluster.counted('deployment.canary_promoted')).to.equal(1);
  });

  it('waits for an order where it has no hold; promoting lets the rest follow', async () => {
    await lab.begin({ rollout: patient });
    await lab.cluster.clock.pass(3_600_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    await lab.order('promote');
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
    expect((await lab.events('canary_promoted'))[0]?.message).to.include('promoted by tok_ops');
    expect(await lab.cluster.get(keys.canaryOrder(TENANT, 'web'))).to.equal(undefined);
  });

  it('that is aborted goes back to the last complete template as a new revision, also without autoRollback', async () => {
    await lab.begin({ rollout: { ...patient, autoRollback: false } });
    await lab.order('abort');
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    const after = await lab.stored();
    expect(after?.metadata.generation).to.equal(3);
    expect(after?.image).to.equal('web:1');
    const archived = await lab.cluster.get<ArchivedRevision>(keys.archive(TENANT, 'dep_1', 3));
    expect(archived).to.include({ change: 'rollback', fromRevision: 1 });
    expect(archived?.reason).to.include('aborted by tok_ops');
    const status = await lab.cluster.status();
    expect(status).to.include({ phase: 'Running' });
    expect(status?.rollout).to.nested.include({ 'lastCanary.outcome': 'aborted' }).and.not.to.have.property('failure');
    expect(await lab.events('canary_aborted')).to.have.length(1);
    expect(await lab.cluster.counted('deployment.canary_aborted')).to.equal(1);
    expect(await lab.events('rollout_failed')).to.have.length(0);
  });

  it('of a deployment that is restored from a backup goes on beside what ran beside it', async () => {
    lab.breakImage('none');
    const old = lab.make({ rollout: patient });
    const templateHash = computeTemplateHash(old);
    const completed = { revision: 4, templateHash, contentHash: computeContentHash(old), at: old.metadata.createdAt };
    const beside = { completed, baseline: { templateHash, template: toContainerTemplate(old) } };
    await lab.order('resume', { beside, image: 'web:2', rollout: patient });
    await lab.apply(6, { image: 'web:2', rollout: patient });
    await lab.cluster.clock.pass(30_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    const status = await lab.cluster.status();
    expect(status?.canary).to.deep.include({ state: 'holding', revision: 6, wanted: 1 });
    expect(status?.rollout).to.include({ state: 'canary', revision: 6, completedRevision: 4 });
    expect(await lab.events('canary_started')).to.have.length(1);
    expect(await lab.cluster.get(keys.canaryOrder(TENANT, 'web'))).to.equal(undefined);

    await lab.order('abort');
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect((await lab.stored())?.metadata.generation).to.equal(7);
  });

  it('that turns unhealthy aborts by itself, with the reason', async () => {
    await lab.begin();
    lab.breakImage('web:2');
    await lab.reportAll();
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    const [aborted] = await lab.events('canary_aborted');
    expect(aborted).to.include({ reason: 'unhealthy', severity: 'warning' });
    expect(aborted?.message).to.match(/worse than the others: 1 of 1 .* fail, 0 of 2 .*: replica 3: its health check/);
    expect(await lab.events('rolled_back')).to.have.length(1);
    expect((await lab.cluster.status())?.rollout?.failure).to.include({ revision: 2, rolledBackTo: 1 });
  });

  it('is not blamed for what ails the others as well: its hold begins anew', async () => {
    await lab.begin();
    lab.cluster.healthOf = () => 'unhealthy';
    await lab.reportAll();
    await lab.cluster.clock.pass(30_000);
    expect((await lab.stored())?.metadata.generation).to.equal(2);
    expect((await lab.recorded())?.canary).to.not.have.property('healthy');
    lab.breakImage('none');
    await lab.reportAll();
    await lab.cluster.clock.pass(290_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    await lab.cluster.clock.pass(60_000);
    expect(await lab.images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
  });

  it('whose container restarts, once it was healthy, aborts by itself', async () => {
    await lab.begin();
    const canary = (await lab.replicas()).find(({ template }) => template.image === 'web:2')!;
    const key = keys.report(TENANT, canary.nodeId!, canary.uid);
    const report = (await lab.cluster.get<Report>(key))!;
    const lastEnd = { exitCode: 3, at: new Date(lab.cluster.clock.now()).toISOString() };
    await lab.cluster.put(key, { ...report, restarts: 1, lastEnd });
    await lab.cluster.clock.pass(20_000);
    expect((await lab.events('canary_aborted'))[0]?.message).to.include('its program ended with exit code 3');
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
  });

  it('that never becomes healthy misses the progress deadline and aborts by itself', async () => {
    lab.breakImage('none');
    await lab.apply(1);
    await lab.cluster.clock.pass(10_000);
    lab.cluster.healthOf = ({ template }) => (template.image === 'web:2' ? 'starting' : 'healthy');
    await lab.apply(2, { image: 'web:2' });
    await lab.cluster.clock.pass(90_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect((await lab.events('canary_aborted'))[0]?.message).to.include('made no progress within 1m');
  });

  it('that fails without autoRollback stays as it is until an order', async () => {
    await lab.begin({ rollout: { ...rollout, autoRollback: false } });
    lab.breakImage('web:2');
    await lab.reportAll();
    await lab.cluster.clock.pass(600_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    const status = await lab.cluster.status();
    expect(status).to.include({ phase: 'Failed' });
    expect(status?.canary).to.include({ state: 'failed' });
    lab.breakImage('none');
    await lab.reportAll();
    await lab.cluster.clock.pass(600_000);
    expect(await lab.images(), 'its hold does not run any more').to.deep.equal(['web:1', 'web:1', 'web:2']);
    await lab.order('promote');
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
    expect((await lab.cluster.status())?.phase).to.equal('Running');
  });

  it('that has failed without autoRollback is not promoted by a later revision of the same content', async () => {
    const stays = { ...rollout, autoRollback: false };
    await lab.begin({ rollout: stays });
    lab.breakImage('web:2');
    await lab.reportAll();
    await lab.cluster.clock.pass(20_000);
    lab.breakImage('none');
    await lab.reportAll();
    await lab.cluster.clock.pass(20_000);
    await lab.apply(3, { image: 'web:2', rollout: stays, replicas: 4 });
    await lab.cluster.clock.pass(900_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1', 'web:2']);
    const status = await lab.cluster.status();
    expect(status).to.include({ phase: 'Failed' });
    expect(status?.canary).to.include({ state: 'failed' });
    expect(status?.canary?.waitsFor).to.include('an order, because it has failed');
    await lab.order('abort');
    await lab.cluster.clock.pass(30_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1', 'web:1']);
    expect(await lab.cluster.status()).to.include({ phase: 'Running' });
  });

  it('is not for the first rollout of a deployment, nor for a change that recreates nothing, nor for a rotation', async () => {
    lab.breakImage('none');
    await lab.apply(1);
    await lab.cluster.clock.pass(10_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    await lab.apply(2, { replicas: 4 });
    await lab.cluster.clock.pass(10_000);
    await lab.apply(3, { replicas: 4, secretsVersion: 1 });
    await lab.cluster.clock.pass(60_000);
    expect((await lab.replicas()).map(({ template }) => template.secretsVersion)).to.deep.equal([1, 1, 1, 1]);
    expect(await lab.events('canary_started')).to.have.length(0);
  });

  it('goes on when the number of replicas changes, and is bounded by it', async () => {
    await lab.begin({ rollout: { ...patient, canary: { replicas: 2 } } });
    expect(await lab.images()).to.deep.equal(['web:1', 'web:2', 'web:2']);
    const change = { image: 'web:2', rollout: { ...patient, canary: { replicas: 2 } } };
    await lab.apply(3, { ...change, replicas: 5 });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1', 'web:2', 'web:2']);
    await lab.apply(4, { ...change, replicas: 2 });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:2']);
    await lab.apply(5, { ...change, replicas: 0 });
    await lab.cluster.clock.pass(20_000);
    await lab.apply(6, { ...change, replicas: 3 });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:2', 'web:2']);
    expect(await lab.events('canary_started')).to.have.length(1);
  });

  it('of one replica runs beside the old one, or in its place where that is impossible', async () => {
    await lab.begin({ replicas: 1, rollout: patient });
    expect(await lab.images()).to.deep.equal(['web:1', 'web:2']);
    await lab.order('promote');
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:2']);

    const tight = { ...patient, maxSurge: 0, maxUnavailable: 1 };
    await lab.apply(3, { replicas: 1, image: 'web:3', rollout: tight });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:3']);
    expect(await lab.cluster.status()).to.include({ phase: 'Progressing', readyReplicas: 1 });
    lab.breakImage('web:3');
    await lab.reportAll();
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:2']);
  });

  it('is superseded by another template, and over with the one that was complete last', async () => {
    await lab.begin({ rollout: patient });
    await lab.apply(3, { image: 'web:3', rollout: patient });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:3']);
    expect((await lab.events('canary_aborted')).map(({ reason }) => reason)).to.deep.equal(['canary_superseded']);
    await lab.apply(4, { rollout: patient });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect((await lab.recorded())?.canary).to.equal(undefined);
    await lab.apply(5, { image: 'web:3', rollout: patient });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images(), 'the same template again has a canary again').to.deep.equal(['web:1', 'web:1', 'web:3']);
    await lab.apply(6, { image: 'web:3', rollout: plain });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images(), 'without a canary the rest follows').to.deep.equal(['web:3', 'web:3', 'web:3']);
  });

  it('does not begin, nor go on, while the rollout is paused, and an old replica that is lost comes back as it was', async () => {
    lab.breakImage('none');
    await lab.apply(1);
    await lab.cluster.clock.pass(10_000);
    const paused = { ...rollout, paused: true };
    await lab.apply(2, { image: 'web:2', rollout: paused });
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    await lab.apply(3, { image: 'web:2' });
    await lab.cluster.clock.pass(20_000);
    await lab.apply(4, { image: 'web:2', rollout: paused });
    await lab.cluster.clock.pass(600_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    await lab.apply(5, { image: 'web:2' });
    await lab.cluster.clock.pass(20_000);

    for (const { template, nodeId } of await lab.replicas()) {
      if (template.image === 'web:1') await lab.cluster.erase(keys.node(TENANT, nodeId!.slice('node_'.length)));
    }
    await lab.cluster.clock.pass(30_000);
    expect(await lab.images(), 'no old replica was left to copy').to.deep.equal(['web:1', 'web:1', 'web:2']);
    await lab.cluster.clock.pass(320_000);
    expect(await lab.images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
  });

  it('says that it is not judged while it is paused or waits for a dependency, and is judged afterwards', async () => {
    const dependsOn = [{ name: 'db', condition: 'healthy' }] as const;
    const db = { ...makeDeployment({ name: 'db', replicas: 1 }), metadata: makeMetadata('dep_2', 1) };
    await lab.cluster.put(keys.deployment(TENANT, 'db'), db);
    await lab.begin({ dependsOn });
    await lab.apply(3, { image: 'web:2', dependsOn, rollout: { ...rollout, paused: true } });
    lab.breakImage('web:2');
    await lab.reportAll();
    await lab.cluster.clock.pass(60_000);
    expect((await lab.cluster.status())?.canary?.waitsFor).to.match(
      /^"moor rollout resume web", because it is paused; it is not judged meanwhile$/,
    );
    await lab.cluster.erase(keys.deployment(TENANT, 'db'));
    await lab.apply(4, { image: 'web:2', dependsOn });
    await lab.cluster.clock.pass(60_000);
    expect((await lab.cluster.status())?.canary?.waitsFor).to.match(/^db, which .*; it is not judged meanwhile$/);
    expect(await lab.events('canary_aborted')).to.have.length(0);
    await lab.cluster.put(keys.deployment(TENANT, 'db'), db);
    await lab.cluster.clock.pass(60_000);
    expect(await lab.events('canary_aborted')).to.have.length(1);
  });

  it('that only names a node comes to rest, whatever is on that node already', async () => {
    await lab.begin({ image: 'web:1', rollout: patient });
    const before = await lab.replicas();
    await lab.apply(3, { rollout: patient, nodeId: before[0]!.nodeId! });
    await lab.cluster.clock.pass(60_000);
    const during = await lab.replicas();
    const kept = during.filter(({ uid }) => before.some(each => each.uid === uid));
    expect([during.length, kept.length]).to.deep.equal([3, 2]);
    const status = await lab.cluster.status();
    expect(status).to.include({ updatedReplicas: 1, readyReplicas: 3 });
    expect(status?.canary).to.include({ state: 'holding' }).and.to.nested.include({ 'slots.length': 1 });
    await lab.cluster.clock.pass(60_000);
    expect((await lab.replicas()).map(({ uid }) => uid)).to.deep.equal(during.map(({ uid }) => uid));
    await lab.order('promote');
    await lab.cluster.clock.pass(60_000);
    expect(await lab.cluster.status()).to.include({ phase: 'Running', updatedReplicas: 3 });
    expect(new Set((await lab.replicas()).map(({ nodeId }) => nodeId))).to.deep.equal(new Set([before[0]!.nodeId]));
  });

  it('goes on where it was, whichever controllers lead, and its hold is not begun anew', async () => {
    await lab.begin();
    for (const holder of ['bb', 'ccc', 'dddd']) {
      lab.leader.abort();
      lab.leader = lab.cluster.controllers(holder);
      await lab.cluster.clock.pass(60_000);
      expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    }
    lab.leader.abort();
    await lab.order('abort');
    await lab.cluster.clock.pass(30_000);
    lab.cluster.controllers('eeeee');
    await lab.cluster.clock.pass(30_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect(await lab.events('canary_started')).to.have.length(1);
    expect(await lab.events('canary_aborted')).to.have.length(1);
  });

  it('does not heed an order that was given for another one', async () => {
    await lab.begin({ rollout: patient });
    const given: CanaryOrder = { uid: 'dep_1', contentHash: 'other', action: 'promote', by: 'tok', at: '' };
    await lab.cluster.put(keys.canaryOrder(TENANT, 'web'), given);
    await lab.cluster.clock.pass(20_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    expect(await lab.cluster.get(keys.canaryOrder(TENANT, 'web'))).to.equal(undefined);
  });
});
