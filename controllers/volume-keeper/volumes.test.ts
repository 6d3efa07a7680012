import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import type { JobStatus } from '../../crds/job/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { AT, makeDeployment, makeMetadata, makeReport, TENANT, TestCluster } from '../test-cluster.testing.js';
import { makeVolume } from '../../crds/volume/volume.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const volume = makeVolume(makeMetadata(ID), { class: 'ephemeral' });

describe('volumes among all loops', () => {
  let cluster: TestCluster;

  beforeEach(() => {
    cluster = new TestCluster();
    cluster.controllers('one');
  });
  afterEach(() => cluster.close());

  const key = keys.volumeStatus(TENANT, ID);
  const status = () => cluster.get<VolumeStatus>(key);
  const declare = (change: Partial<StoredVolume> = {}) =>
    cluster.put(keys.volume(TENANT, ID), { ...volume, ...change });
  const report = (state: VolumeReport['state'], nodeId = 'node_a') =>
    cluster.put(keys.volumeReport(TENANT, ID, nodeId), { id: ID, state, nodeId, at: AT });
  const moves = async () =>
    (await cluster.all<StoredEvent>(ranges.events))
      .filter(({ type }) => type === 'volume.phase_changed')
      .map(({ data }) => `${String(data['from'])} → ${String(data['to'])}`);

  it('get a node when one is ready, and each move is told once', async () => {
    await declare();
    await cluster.clock.pass(5_000);
    expect(await status()).to.include({ phase: 'Pending', reason: 'volume_waiting' });
    await cluster.enrol('a');
    await cluster.clock.pass(20_000);
    expect(await status()).to.include({ phase: 'Materializing', primaryNode: 'node_a' });
    await report('ready');
    await cluster.clock.pass(5_000);
    expect(await status()).to.include({ phase: 'Ready', primaryNode: 'node_a' });
    expect(await moves()).to.deep.equal(['Pending → Materializing', 'Materializing → Ready']);
  });

  it('are resized by way of the phase for it, and the end is told with how long it took', async () => {
    await cluster.enrol('a');
    await declare();
    await cluster.clock.pass(20_000);
    const say = (capacityBytes: number, targetBytes: number) =>
      cluster.put(keys.volumeReport(TENANT, ID, 'node_a'), {
        id: ID,
        state: 'ready',
        nodeId: 'node_a',
        at: AT,
        capacityBytes,
        targetBytes,
      });
    await say(2 ** 20, 2 ** 20);
    await cluster.clock.pass(5_000);
    await declare({ sizeBytes: 2 ** 21, metadata: { ...volume.metadata, generation: 2 } });
    await cluster.clock.pass(5_000);
    expect(await status()).to.include({ phase: 'Resizing', reason: 'volume_resizing', capacityBytes: 2 ** 20 });
    await say(2 ** 21, 2 ** 21);
    await cluster.clock.pass(5_000);
    expect(await status()).to.include({ phase: 'Ready', reason: 'volume_ready', capacityBytes: 2 ** 21 });
    expect((await moves()).slice(-2)).to.deep.equal(['Ready → Resizing', 'Resizing → Ready']);
    const told = (await cluster.all<StoredEvent>(ranges.events)).filter(({ type }) => type === 'volume.resized');
    expect(told.map(({ data }) => [data['from'], data['to']])).to.deep.equal([[2 ** 20, 2 ** 21]]);
  });

  it('hold what mounts them on their node', async () => {
    for (const name of ['a', 'b', 'c']) await cluster.enrol(name);
    await declare({ primaryNode: 'node_b' });
    await cluster.clock.pass(20_000);
    await report('ready', 'node_b');
    const mount = { volumeId: ID, type: 'volume', mountPath: '/data', readOnly: true } as const;
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 3, volumes: [mount] }));
    await cluster.clock.pass(20_000);
    const replicas = await cluster.all<Replica>(ranges.replicas);
    expect(replicas.map(({ nodeId }) => nodeId)).to.deep.equal(['node_b', 'node_b', 'node_b']);
  });

  it('of type bind keep what mounts them waiting while their node cannot provide them, and it says why', async () => {
    for (const name of ['a', 'b']) await cluster.enrol(name);
    await declare({ type: 'bind', primaryNode: 'node_b' });
    await cluster.clock.pass(20_000);
    await report('ready', 'node_b');
    await cluster.clock.pass(5_000);
    const message = 'this node lets no folder of its machine be a volume; start its agent with --bind-root';
    const failed = { id: ID, state: 'failed', nodeId: 'node_b', at: AT, message } as const;
    await cluster.put(keys.volumeReport(TENANT, ID, 'node_b'), failed);
    await cluster.clock.pass(5_000);
    expect(await status()).to.include({ phase: 'Degraded', reason: 'volume_refused', message });
    const mount = { volumeId: ID, type: 'bind', mountPath: '/data', readOnly: false } as const;
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1, volumes: [mount] }));
    await cluster.clock.pass(20_000);
    expect(await cluster.whereabouts()).to.deep.equal(['nowhere']);
    const events = await cluster.all<StoredEvent>(ranges.events);
    const { data } = events.find(({ type }) => type === 'deployment.unschedulable')!;
    expect(JSON.stringify(data)).to.contain(`b: ${message}`).and.to.contain('"volume"');
    await report('ready', 'node_b');
    await cluster.clock.pass(5_000);
    expect(await cluster.whereabouts()).to.deep.equal(['node_b']);
  });

  it('hold what writes to them on a lost node until that is fenced, and then wait for the volume', async () => {
    const lease = await cluster.enrol('a');
    await cluster.enrol('b');
    await declare({ primaryNode: 'node_a' });
    await cluster.clock.pass(20_000);
    await report('ready', 'node_a');
    const mount = { volumeId: ID, type: 'volume', mountPath: '/data', readOnly: false } as const;
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1, volumes: [mount] }));
    await cluster.clock.pass(20_000);
    await cluster.store.revoke(lease);
    await cluster.clock.pass(300_000);
    expect(await cluster.whereabouts()).to.deep.equal(['node_a']);
    await cluster.order('a', { fence: { by: 'tok_1', since: AT } });
    await cluster.clock.pass(20_000);
    expect(await cluster.whereabouts()).to.deep.equal(['nowhere']);
  });

  it('[4.20] with a copy are promoted when their node is lost, and what writes to them follows', async () => {
    const lease = await cluster.enrol('a');
    for (const name of ['b', 'c']) await cluster.enrol(name);
    for (const name of ['a', 'b']) await cluster.change(name, { volumeAddress: `10.0.0.1:${name === 'a' ? 1 : 2}` });
    await declare({ class: 'replicated', replicas: 1, primaryNode: 'node_a' });
    await cluster.clock.pass(20_000);
    const said = (nodeId: string, change: Partial<VolumeReport>) =>
      cluster.put(keys.volumeReport(TENANT, ID, nodeId), { id: ID, state: 'ready', nodeId, at: AT, ...change });
    const syncedAt = new Date(cluster.clock.now()).toISOString();
    const copies = [{ nodeId: 'node_b', state: 'synced', syncedAt }] as const;
    await said('node_a', { epoch: 1, role: 'primary', copies, fencesAfterSeconds: 30 });
    await cluster.clock.pass(5_000);
    expect((await status())?.copies, 'its own node has said nothing yet').to.deep.equal([
      { nodeId: 'node_b', state: 'syncing' },
    ]);
    await said('node_b', { epoch: 1, role: 'replica', syncedAt, syncedEpoch: 1 });
    await cluster.clock.pass(5_000);
    expect(await status()).to.deep.include({ phase: 'Ready', epoch: 1, copies });
    const mount = { volumeId: ID, type: 'volume', mountPath: '/data', readOnly: false } as const;
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1, volumes: [mount] }));
    await cluster.clock.pass(20_000);
    expect(await cluster.whereabouts()).to.deep.equal(['node_a']);

    await cluster.store.revoke(lease);
    await cluster.clock.pass(40_000);
    expect(await status()).to.include({ phase: 'Degraded', primaryNode: 'node_a', epoch: 1 });
    expect(await cluster.whereabouts(), 'it may still write').to.deep.equal(['node_a']);
    await cluster.clock.pass(120_000);
    expect(await status()).to.include({ phase: 'Promoting', primaryNode: 'node_b', epoch: 2 });
    expect(await cluster.whereabouts(), 'not before the copy has taken over').to.deep.equal(['nowhere']);
    await said('node_b', { epoch: 2, role: 'primary', copies: [{ nodeId: 'node_a', state: 'syncing' }] });
    await cluster.clock.pass(20_000);
    expect(await status()).to.include({ phase: 'Ready', primaryNode: 'node_b', epoch: 2 });
    expect(await cluster.whereabouts()).to.deep.equal(['node_b']);
    const promoted = (await cluster.all<StoredEvent>(ranges.events)).filter(({ type }) => type === 'volume.promoted');
    expect(promoted.map(({ data }) => [data['from'], data['to'], data['epoch']])).to.deep.equal([
      ['node_a', 'node_b', 2],
    ]);
  });

  describe('that are to move', () => {
    const said = (nodeId: string, change: Partial<VolumeReport>) =>
      cluster.put(keys.volumeReport(TENANT, ID, nodeId), { id: ID, state: 'ready', nodeId, at: AT, ...change });
    const last = (epoch: number) => ({ final: { epoch, snapshot: 's-1-7', at: AT } });
    const primary = (change: Partial<VolumeReport> = {}) => {
      const copies = [{ nodeId: 'node_b', state: 'synced', syncedAt: AT }] as const;
      return said('node_a', { epoch: 1, role: 'primary', copies, ...change });
    };
    const copy = (change: Partial<VolumeReport> = {}) =>
      said('node_b', { epoch: 1, role: 'replica', syncedAt: AT, syncedEpoch: 1, ...change });
    /** As the agent of a node does that is told to stop it. */
    const stop = async () => {
      for (const { uid, nodeId, retiringSince } of await cluster.all<Replica>(ranges.replicas)) {
        if (nodeId === undefined || retiringSince === undefined) continue;
        const report = { uid, tenant: TENANT, deployment: 'web', nodeId, state: 'removed', at: AT };
        await cluster.put(keys.report(TENANT, nodeId, uid), report);
      }
      await cluster.clock.pass(20_000);
    };
    const events = async () =>
      (await cluster.all<StoredEvent>(ranges.events)).flatMap(({ type }) =>
        type.startsWith('volume.move') ? [type] : [],
      );

    beforeEach(async () => {
      for (const name of ['a', 'b']) await cluster.enrol(name);
      for (const name of ['a', 'b']) await cluster.change(name, { volumeAddress: `10.0.0.1:${name.charCodeAt(0)}` });
      await declare({ class: 'replicated', replicas: 1, primaryNode: 'node_a' });
      await cluster.clock.pass(20_000);
      await primary();
      await cluster.clock.pass(5_000);
      await copy();
      const mount = { volumeId: ID, type: 'volume', mountPath: '/data', readOnly: false } as const;
      await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1, volumes: [mount] }));
      await cluster.clock.pass(20_000);
      expect(await cluster.whereabouts()).to.deep.equal(['node_a']);
    });
    const order = () => {
      const at = new Date(cluster.clock.now()).toISOString();
      const move = { nodeId: 'node_b', generation: 2, at };
      return declare({ class: 'replicated', replicas: 1, primaryNode: 'node_a', move });
    };

    it('are stopped, switched when both ends have the last snapshot, and used where they are then', async () => {
      await order();
      await cluster.clock.pass(10_000);
      expect(await status()).to.include({ phase: 'Degraded', reason: 'volume_moving', finalFor: 2 });
      await stop();
      expect(await cluster.whereabouts(), 'it waits').to.deep.equal(['nowhere']);
      await primary(last(2));
      await cluster.clock.pass(10_000);
      expect(await status()).to.deep.include({ phase: 'Degraded', epoch: 1 });
      await copy(last(2));
      await cluster.clock.pass(10_000);
      expect(await status()).to.include({ phase: 'Promoting', primaryNode: 'node_b', epoch: 2 });
      expect(await status()).to.not.have.property('finalFor');
      expect(await cluster.whereabouts(), 'not before it has taken over').to.deep.equal(['nowhere']);
      await said('node_b', { epoch: 2, role: 'primary', copies: [] });
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Ready', primaryNode: 'node_b', epoch: 2 });
      expect((await status())?.lastMove).to.include({ from: 'node_a', to: 'node_b', generation: 2, epoch: 2 });
      expect(await cluster.whereabouts()).to.deep.equal(['node_b']);
      expect(await events()).to.deep.equal(['volume.move_started', 'volume.moved']);
    });

    it('are used where they were when the move is cancelled', async () => {
      await order();
      await cluster.clock.pass(10_000);
      await stop();
      await declare({ class: 'replicated', replicas: 1, primaryNode: 'node_a' });
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Ready', primaryNode: 'node_a', epoch: 1 });
      expect(await cluster.whereabouts()).to.deep.equal(['node_a']);
      expect(await events()).to.deep.equal(['volume.move_started', 'volume.move_aborted']);
      await order();
      await declare({
        class: 'replicated',
        replicas: 1,
        primaryNode: 'node_a',
        move: { nodeId: 'node_b', generation: 3, at: new Date(cluster.clock.now()).toISOString() },
      });
      await cluster.clock.pass(10_000);
      expect((await status())?.finalFor, 'a number is not used twice').to.be.greaterThan(2);
    });

    it('leave a node that is drained, which is drained only then', async () => {
      const drained = async () => (await cluster.get<NodeStatus>(keys.nodeStatus(TENANT, 'a')))?.reason;
      await cluster.order('a', { drain: { by: 'tok_1', since: AT } });
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Degraded', reason: 'volume_moving', finalFor: 2 });
      await stop();
      expect([await cluster.whereabouts(), await drained()]).to.deep.equal([['nowhere'], 'draining']);
      await primary(last(2));
      await copy(last(2));
      await cluster.clock.pass(10_000);
      await said('node_b', { epoch: 2, role: 'primary', copies: [] });
      await cluster.clock.pass(20_000);
      expect([await cluster.whereabouts(), await drained()]).to.deep.equal([['node_b'], 'drained']);
    });

    describe('while a job writes to them', () => {
      const attempts = () => cluster.all<Replica>(ranges.replicasOf(TENANT, 'job.nightly'));
      const job = async () => (await cluster.get<JobStatus>(keys.jobStatus(TENANT, 'nightly')))?.phase;
      const ends = async () => {
        const replica = (await attempts()).at(-1)!;
        const end = { ...makeReport(replica), state: 'exited', exitCode: 0, reason: 'container_exited' } as const;
        await cluster.put(keys.report(TENANT, replica.nodeId!, replica.uid), end);
        await cluster.clock.pass(10_000);
      };
      const runs = async () => {
        const volumes = [{ volumeId: ID, type: 'volume', mountPath: '/data', readOnly: false }] as const;
        const spec = { kind: 'Job', name: 'nightly', image: 'job:1', backoffLimit: 0, volumes } as const;
        await cluster.put(keys.job(TENANT, 'nightly'), { metadata: makeMetadata('job_nightly'), ...spec });
        await cluster.clock.pass(5_000);
        expect([await job(), (await attempts()).map(({ nodeId }) => nodeId)]).to.deep.equal(['Running', ['node_a']]);
      };
      const way: Readonly<Record<string, () => Promise<unknown>>> = {
        'a user asked': () => order(),
        'their node is drained': () => cluster.order('a', { drain: { by: 'tok_1', since: AT } }),
      };
      for (const [why, begin] of Object.entries(way)) {
        it(`wait until it has ended, say so, and move then, because ${why}`, async () => {
          await runs();
          await begin();
          await cluster.clock.pass(3_600_000);
          expect((await status())?.move).to.include({ phase: 'Waiting', to: 'node_b' });
          expect((await status())?.message).to.match(/to move: jobs that mount it run to their end first: nightly$/);
          expect(await status())
            .to.include({ phase: 'Ready', primaryNode: 'node_a' })
            .and.not.have.property('finalFor');
          expect([await job(), (await attempts()).length]).to.deep.equal(['Running', 1]);
          await ends();
          expect(await job()).to.equal('Succeeded');
          expect(await status()).to.include({ phase: 'Degraded', reason: 'volume_moving', finalFor: 2 });
        });
      }
    });

    it('stay on a node that is drained while no copy can take over, and say what to do', async () => {
      await primary({ copies: [{ nodeId: 'node_b', state: 'syncing' }] });
      await cluster.clock.pass(5_000);
      await cluster.order('a', { drain: { by: 'tok_1', since: AT } });
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Ready', primaryNode: 'node_a' });
      expect((await status())?.message).to.match(/it is not moved: no copy is complete .*moor volumes replicas add/);
      expect(await events()).to.deep.equal(['volume.move_blocked']);
      expect(await cluster.whereabouts()).to.deep.equal(['node_a']);
    });
  });

  it('forget an order to remove what was set aside once its node has, and keep one that is open', async () => {
    for (const name of ['a', 'b']) await cluster.enrol(name);
    for (const name of ['a', 'b']) await cluster.change(name, { volumeAddress: `10.0.0.1:${name.charCodeAt(0)}` });
    const discarded = ['divergent-1', 'divergent-2'].map(name => ({ nodeId: 'node_b', name, at: AT }));
    const spec = { class: 'replicated', replicas: 1, primaryNode: 'node_a' } as const;
    await declare(spec);
    await cluster.clock.pass(20_000);
    await report('ready');
    await cluster.clock.pass(5_000);
    const said = (...names: readonly string[]) =>
      cluster.put(keys.volumeReport(TENANT, ID, 'node_b'), {
        id: ID,
        state: 'ready',
        nodeId: 'node_b',
        at: AT,
        epoch: 1,
        role: 'replica',
        divergent: names.map(name => ({ name, epoch: 1, at: AT })),
      });
    const left = async () => (await cluster.get<StoredVolume>(keys.volume(TENANT, ID)))?.discarded;
    await said('divergent-1', 'divergent-2');
    await declare({ ...spec, discarded });
    await cluster.clock.pass(5_000);
    expect(await left()).to.deep.equal(discarded);
    await said('divergent-2');
    await cluster.clock.pass(5_000);
    expect(await left()).to.deep.equal(discarded.slice(1));
    await said();
    await cluster.clock.pass(5_000);
    expect(await left()).to.equal(undefined);
    expect((await cluster.get<StoredVolume>(keys.volume(TENANT, ID)))?.metadata.generation).to.equal(1);
  });

  it('that one workload mounts leave a node that is drained for the same one', async () => {
    for (const name of ['a', 'b', 'c']) await cluster.enrol(name);
    for (const name of ['a', 'b', 'c']) await cluster.change(name, { volumeAddress: `10.0.0.1:${name.charCodeAt(0)}` });
    const freshest = { [ID]: 'node_b', [`vol_${'2'.repeat(26)}`]: 'node_c' };
    const later = new Date(Date.parse(AT) + 1000).toISOString();
    const say = (id: string, nodeId: string, change: Partial<VolumeReport>) =>
      cluster.put(keys.volumeReport(TENANT, id, nodeId), { id, state: 'ready', nodeId, at: AT, epoch: 1, ...change });
    for (const [id, fresh] of Object.entries(freshest)) {
      const spec = { class: 'replicated', replicas: 2, primaryNode: 'node_a' } as const;
      await cluster.put(keys.volume(TENANT, id), { ...volume, metadata: makeMetadata(id), id, name: fresh, ...spec });
      await cluster.clock.pass(20_000);
      const copies = (['node_b', 'node_c'] as const).map(nodeId => {
        return { nodeId, state: 'synced' as const, syncedAt: nodeId === fresh ? later : AT };
      });
      await say(id, 'node_a', { role: 'primary', copies });
      await cluster.clock.pass(5_000);
      for (const { nodeId, syncedAt } of copies) await say(id, nodeId, { role: 'replica', syncedAt, syncedEpoch: 1 });
    }
    const volumes = Object.keys(freshest).map(volumeId => {
      return { volumeId, type: 'volume', mountPath: `/${volumeId}`, readOnly: false } as const;
    });
    await cluster.put(keys.deployment(TENANT, 'web'), makeDeployment({ replicas: 1, volumes }));
    await cluster.clock.pass(20_000);
    await cluster.order('a', { drain: { by: 'tok_1', since: AT } });
    await cluster.clock.pass(20_000);
    const targets = (await cluster.all<VolumeStatus>(ranges.volumeStatuses)).map(({ move }) => move?.to);
    expect(targets[0]).to.be.oneOf(['node_b', 'node_c']);
    expect(targets).to.deep.equal([targets[0], targets[0]]);
  });

  it('get another copy when the node of the first one cannot hold it for ten minutes', async () => {
    for (const name of ['a', 'b', 'c']) await cluster.enrol(name);
    for (const name of ['a', 'b', 'c']) await cluster.change(name, { volumeAddress: `10.0.0.1:${name.charCodeAt(0)}` });
    await declare({ class: 'replicated', replicas: 1, primaryNode: 'node_a' });
    await cluster.clock.pass(20_000);
    const said = (nodeId: string, change: Partial<VolumeReport>) => {
      const at = new Date(cluster.clock.now()).toISOString();
      return cluster.put(keys.volumeReport(TENANT, ID, nodeId), { id: ID, state: 'ready', nodeId, at, ...change });
    };
    await said('node_a', { epoch: 1, role: 'primary' });
    await cluster.clock.pass(5_000);
    const nodes = async () => (await status())?.copies.map(({ nodeId }) => nodeId) ?? [];
    const [first = ''] = await nodes();
    expect(['node_b', 'node_c']).to.include(first);
    await said(first, { state: 'failed', message: 'no space' });
    await cluster.clock.pass(300_000);
    expect(await nodes()).to.deep.equal([first]);
    await cluster.clock.pass(420_000);
    expect(await nodes()).to.have.members(['node_b', 'node_c']);
  });

  it('are neither promoted nor given up while the node that has them may be one whose record cannot be read', async () => {
    for (const name of ['a', 'b']) await cluster.enrol(name);
    await declare({ class: 'replicated', replicas: 1, primaryNode: 'node_a' });
    await cluster.clock.pass(20_000);
    await report('ready', 'node_a');
    await cluster.clock.pass(5_000);
    const copies = [{ nodeId: 'node_b', state: 'synced' }];
    await cluster.put(key, { ...(await status()), copies });
    const synced = { role: 'replica', epoch: 1, syncedAt: AT, syncedEpoch: 1 };
    await cluster.put(keys.volumeReport(TENANT, ID, 'node_b'), {
      id: ID,
      state: 'ready',
      nodeId: 'node_b',
      at: AT,
      ...synced,
    });
    await cluster.change('a', { id: 5 as never });
    await cluster.clock.pass(120_000);
    expect(await status()).to.include({ phase: 'Degraded', primaryNode: 'node_a', epoch: 1 });
    await cluster.erase(keys.node(TENANT, 'a'));
    await cluster.clock.pass(30_000);
    expect(await status()).to.include({ phase: 'Promoting', primaryNode: 'node_b', epoch: 2 });
  });

  it('are gone when the agent says so, with everything that stood beside them', async () => {
    await cluster.enrol('a');
    await declare();
    await cluster.clock.pass(20_000);
    await report('ready');
    await cluster.clock.pass(5_000);
    await declare({ metadata: { ...volume.metadata, deletedAt: AT } });
    await cluster.clock.pass(5_000);
    expect(await status()).to.include({ phase: 'Deleting', primaryNode: 'node_a' });
    await report('removed');
    await cluster.clock.pass(5_000);
    for (const range of [ranges.volumes, ranges.volumeStatuses, ranges.volumeReports]) {
      expect(await cluster.all(range), range).to.deep.equal([]);
    }
    expect((await moves()).at(-1)).to.equal('Deleting → null');
  });

  it('whose status is damaged are found again where the agent has them', async () => {
    await cluster.enrol('a');
    await cluster.enrol('b');
    await declare({ primaryNode: 'node_b' });
    await cluster.clock.pass(20_000);
    await report('ready', 'node_b');
    await cluster.clock.pass(5_000);
    for (const damaged of ['nonsense', [], { phase: 'Melting', primaryNode: 5 }, { copies: 7 }]) {
      await cluster.put(key, damaged);
      await cluster.clock.pass(5_000);
      expect(await status(), JSON.stringify(damaged)).to.include({ phase: 'Ready', primaryNode: 'node_b' });
    }
  });

  it('that cannot be read are left alone, and hold up no other', async () => {
    await cluster.enrol('a');
    for (const damaged of ['nonsense', 5, { ...volume, sizeBytes: 'much' }, { id: 'other' }]) {
      await cluster.put(keys.volume(TENANT, ID), damaged);
      await cluster.clock.pass(5_000);
      expect(await cluster.get(keys.volume(TENANT, ID)), JSON.stringify(damaged)).not.to.equal(undefined);
      expect(await status()).to.equal(undefined);
    }
    const other = `vol_${'2'.repeat(26)}`;
    await cluster.put(keys.volume(TENANT, other), {
      ...volume,
      metadata: makeMetadata(other),
      id: other,
      name: 'other',
    });
    await cluster.clock.pass(20_000);
    expect(await cluster.get(keys.volumeStatus(TENANT, other))).to.include({ phase: 'Materializing' });
    const told = (await cluster.all<StoredEvent>(ranges.events)).map(({ type }) => type);
    expect(told).to.include('volume.record_unusable');
  });
});
