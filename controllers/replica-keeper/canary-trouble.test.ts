import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { arm } from '../../pkg/failpoint/index.js';
import { CanaryLab, canaryRollout } from './canary-lab.testing.js';
import { AT, TENANT } from '../test-cluster.testing.js';

const patient = { ...canaryRollout, canary: { replicas: 1 } };

describe('what a canary is compared with', () => {
  let lab: CanaryLab;

  beforeEach(async () => {
    lab = await new CanaryLab().start();
  });
  afterEach(() => lab.cluster.close());

  const old = async () => (await lab.replicas()).filter(({ template }) => template.image === 'web:1');
  const nodesOf = (replicas: readonly Replica[]) => replicas.map(({ nodeId = 'nowhere' }) => nodeId).sort();

  it('is placed as the old template asks, whatever node and network the new one names', async () => {
    await lab.cluster.put(keys.network(TENANT, 'backend'), { name: 'backend', nodeId: 'node_n1' });
    await lab.begin({ rollout: patient }, { networks: ['backend'], nodeId: 'node_n1' });
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    await lab.cluster.enrol('n4');
    for (const { nodeId } of await old()) await lab.cluster.erase(keys.node(TENANT, nodeId!.slice('node_'.length)));
    await lab.cluster.enrol('n1');
    await lab.cluster.clock.pass(30_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
    expect(nodesOf(await old())).to.include('node_n4');
  });

  it('stays on the node that its own revision named, also when it is scaled', async () => {
    await lab.begin({ rollout: patient, nodeId: 'node_n1' }, { nodeId: 'node_n2' });
    await lab.apply(3, { rollout: patient, image: 'web:2', nodeId: 'node_n2', replicas: 5 });
    await lab.cluster.clock.pass(30_000);
    expect(nodesOf(await old())).to.deep.equal(Array.from({ length: 4 }, () => 'node_n1'));
  });

  for (const [held, change] of [
    ['beside a canary', { rollout: patient }],
    ['while the rollout is paused', { rollout: { ...canaryRollout, paused: true } }],
  ] as const) {
    it(`leaves the node that an earlier revision named, and the one that was complete did not, ${held}`, async () => {
      lab.breakImage('none');
      await lab.apply(1, { rollout: patient, nodeId: 'node_n1' });
      await lab.cluster.clock.pass(10_000);
      await lab.apply(2, { rollout: patient });
      await lab.cluster.clock.pass(10_000);
      expect(nodesOf(await old())).to.deep.equal(['node_n1', 'node_n1', 'node_n1']);
      await lab.apply(3, { image: 'web:2', ...change });
      await lab.cluster.clock.pass(20_000);
      const before = (await old()).length;
      await lab.cluster.order('n1', { drain: { by: 'tok', since: AT } });
      await lab.cluster.clock.pass(120_000);
      expect(await old()).to.have.length(before);
      expect(nodesOf(await old()))
        .to.not.include('node_n1')
        .and.not.include('nowhere');
    });
  }

  it('stays on the node that was named only after it was there', async () => {
    lab.breakImage('none');
    for (const name of ['n2', 'n3']) await lab.cluster.order(name, { drain: { by: 'tok', since: AT } });
    await lab.apply(1, { rollout: patient });
    await lab.cluster.clock.pass(10_000);
    await lab.apply(2, { rollout: patient, nodeId: 'node_n1' });
    await lab.cluster.clock.pass(10_000);
    for (const name of ['n2', 'n3']) await lab.cluster.order(name, {});
    await lab.apply(3, { rollout: patient, image: 'web:2' });
    await lab.cluster.clock.pass(20_000);
    await lab.apply(4, { rollout: patient, image: 'web:2', replicas: 5 });
    await lab.cluster.clock.pass(30_000);
    expect(nodesOf(await old())).to.deep.equal(Array.from({ length: 4 }, () => 'node_n1'));
  });

  it('waits for a node for reasons of its own, and takes the first that will do', async () => {
    const ports = [{ containerPort: 80, hostPort: 8080, protocol: 'tcp' }] as const;
    await lab.begin({ rollout: patient, ports }, { ports: [] });
    await lab.apply(3, { rollout: patient, image: 'web:2', ports: [], replicas: 5 });
    await lab.cluster.clock.pass(30_000);
    expect(nodesOf(await old()), 'one node each').to.deep.equal(['node_n1', 'node_n2', 'node_n3', 'nowhere']);
    await lab.cluster.enrol('n4');
    await lab.cluster.clock.pass(30_000);
    expect(nodesOf(await old())).to.deep.equal(['node_n1', 'node_n2', 'node_n3', 'node_n4']);
  });

  it('is made anew elsewhere when its node is lost, though no node takes one more of the new template', async () => {
    await lab.begin({ rollout: patient }, { resources: { cpu: '900m' } });
    const lost = (await old())[0]!;
    for (const name of ['n1', 'n2', 'n3']) {
      const key = keys.node(TENANT, name);
      const node = (await lab.cluster.get<StoredNode>(key))!;
      await lab.cluster.put(key, { ...node, capacity: { ...node.capacity, cpu: 500 } });
    }
    await lab.cluster.store.revoke(lab.leases.get(lost.nodeId!)!);
    await lab.cluster.clock.pass(300_000);
    const now = await old();
    expect(now).to.have.length(2);
    expect(nodesOf(now)).to.not.include(lost.nodeId!).and.not.include('nowhere');
  });

  it('does not hide restarts of a canary that has left its node', async () => {
    lab.breakImage('none');
    await lab.apply(1);
    await lab.cluster.clock.pass(10_000);
    lab.cluster.healthOf = ({ template }) => (template.image === 'web:2' ? 'starting' : 'healthy');
    await lab.apply(2, { image: 'web:2' });
    await lab.cluster.clock.pass(10_000);
    const canary = async () =>
      (await lab.replicas()).find(each => each.template.image === 'web:2' && !each.retiringSince)!;
    const restart = async (replica: Replica, restarts: number) => {
      const key = keys.report(TENANT, replica.nodeId!, replica.uid);
      await lab.cluster.put(key, { ...(await lab.cluster.get<Report>(key))!, health: 'healthy', restarts });
      await lab.cluster.clock.pass(20_000);
    };
    const first = await canary();
    await restart(first, 5);
    expect((await lab.recorded())?.canary?.healthy).to.not.equal(undefined);
    lab.breakImage('none');
    await lab.cluster.order(first.nodeId!.slice('node_'.length), { drain: { by: 'tok', since: AT } });
    await lab.cluster.clock.pass(40_000);
    const second = await canary();
    expect(second.uid).to.not.equal(first.uid);
    expect(await lab.events('canary_aborted')).to.have.length(0);
    await restart(second, 1);
    expect(await lab.events('canary_aborted')).to.have.length(1);
  });

  it('comes back when it is aborted after its revision is not kept any more', async () => {
    await lab.begin({ rollout: patient, command: ['old'], nodeId: 'node_n1' }, { command: ['new'], nodeId: 'node_n2' });
    const change = { rollout: patient, image: 'web:2', command: ['new'], nodeId: 'node_n2' };
    for (let at = 3; at <= 60; at++) await lab.apply(at, { ...change, labels: { at: String(at) } });
    for (let at = 1; at <= 10; at++) await lab.cluster.erase(keys.archive(TENANT, 'dep_1', at));
    await lab.order('abort');
    await lab.cluster.clock.pass(60_000);
    expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:1']);
    expect(await lab.stored()).to.deep.include({ command: ['old'], nodeId: 'node_n1', labels: { at: '60' } });
    expect(await lab.events('canary_aborted')).to.have.length(1);
    expect(await lab.cluster.status()).to.include({ phase: 'Running' });
  });

  it('that cannot come back keeps its canary, and the abort is answered with why', async () => {
    const secrets = [{ name: 'DB', vault_path: 'deployments/db', anchor: 'external', rotation: 'restart' }] as const;
    await lab.begin({ rollout: patient });
    const record = (await lab.recorded())!;
    const { baseline } = record.canary!;
    const template = { ...baseline.template, secrets: secrets.map(({ name, vault_path }) => ({ name, vault_path })) };
    const templateHash = hashSpec({ template });
    const canary = { ...record.canary!, baseline: { templateHash, template } };
    const completed = { ...record.completed!, templateHash };
    await lab.cluster.put(keys.rollout(TENANT, 'web'), { ...record, canary, completed });
    await lab.cluster.erase(keys.archive(TENANT, 'dep_1', 1));
    await lab.order('abort');
    await lab.cluster.clock.pass(30_000);
    expect(await lab.images()).to.include('web:2');
    const [failed] = await lab.events('rollout_failed');
    expect(failed?.reason).to.equal('canary_not_aborted');
    expect((await lab.recorded())?.failed?.reason).to.equal('canary_not_aborted');
    expect(failed?.message).to.match(
      /was not aborted.*: revision 1 is not kept any more; send its configuration again/,
    );
    expect((await lab.cluster.status())?.canary).to.include({ state: 'failed' });
  });
});

describe('a canary whose keeper fails in the middle', () => {
  const points = ['rollout.recording', 'rollout.recorded', 'replica.changing', 'replica.changed'] as const;
  for (const point of points) {
    for (const [pass, action] of [1, 2, 3, 4].flatMap(each => [[each, 'promote'] as const, [each, 'abort'] as const])) {
      it(`at pass ${pass} of ${point} is there once, and ${action} is carried out once`, async () => {
        const lab = await new CanaryLab().start();
        lab.breakImage('none');
        await lab.apply(1, { rollout: patient });
        await lab.cluster.clock.pass(10_000);
        const disarm = arm(`${point}=error@${pass}`);
        try {
          await lab.apply(2, { image: 'web:2', rollout: patient });
          await lab.cluster.clock.pass(60_000);
          expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
          await lab.order(action);
          await lab.cluster.clock.pass(120_000);
        } finally {
          disarm();
          lab.cluster.close();
        }
        const image = action === 'promote' ? 'web:2' : 'web:1';
        expect(await lab.images()).to.deep.equal([image, image, image]);
        expect((await lab.stored())?.metadata.generation).to.equal(action === 'promote' ? 2 : 3);
        expect(await lab.events('canary_started')).to.have.length(1);
        const told = [await lab.events('canary_promoted'), await lab.events('canary_aborted')].map(each => each.length);
        expect(told).to.deep.equal(action === 'promote' ? [1, 0] : [0, 1]);
        expect(await lab.cluster.status()).to.include({ phase: 'Running', readyReplicas: 3 });
      });
    }
  }
});
