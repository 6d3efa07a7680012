import { expect } from 'chai';
import sinon from 'sinon';

import { keys } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { Report } from '../../../crds/report/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../../crds/volume/index.js';
import { seededRandom, sleep } from '../../clock/index.js';
import { LAB_NODE, LAB_TENANT, nodeRecord, replica } from '../../link/dispatcher-lab.testing.js';
import { silentLogger } from '../../log/index.js';
import { value } from '../../store/index.js';
import type { AgentEnv } from '../agent-env.js';
import { NodeLab } from '../node-lab.testing.js';
import { NodeVolumes } from './node-volumes.js';
import { type BoundFolders, type VolumeDriver, VolumeFault, VolumeRoom } from '../volumes/index.js';
import { checkReserve } from '../volumes/volume-checks.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const AT = new Date(0).toISOString();
const SIZE = 100 * 2 ** 20;

/** Volumes that are only names. */
function fakeDriver() {
  const held = new Map<string, number>();
  const none = undefined as VolumeFault | undefined;
  const state = { used: 0, recoveries: 0, failure: none, refusal: none };
  const act = <T>(work: () => T): Promise<T> =>
    state.failure ? Promise.reject(state.failure) : Promise.resolve(work());
  const driver: Partial<VolumeDriver> = {
    name: 'directory',
    describe: () => ({
      enforcesSize: false,
      snapshotsOnline: false,
      minSizeBytes: 0,
      shrinkFloorBytes: 0,
      limits: ['The size is only measured.'],
    }),
    materialise: ({ id, sizeBytes }) =>
      act(() => {
        if (!held.has(id)) held.set(id, sizeBytes);
        return { id, sizeBytes: held.get(id)! };
      }),
    mountPoint: (id, subPath) => act(() => `/volumes/${id}${subPath ? `/${subPath}` : ''}`),
    usage: id => act(() => ({ usedBytes: state.used, sizeBytes: held.get(id)!, measuredAt: 0 })),
    resize: (id, sizeBytes) =>
      state.refusal
        ? Promise.reject(state.refusal)
        : act(() => void held.set(id, sizeBytes)).then(() => ({ id, sizeBytes })),
    remove: id => act(() => void held.delete(id)),
    recover: () => Promise.resolve(void state.recoveries++),
    list: () => Promise.resolve([]),
  };
  return { held, state, driver: driver as VolumeDriver };
}

describe('volumes of a node', () => {
  let lab: NodeLab;
  let fake: ReturnType<typeof fakeDriver>;

  beforeEach(async () => {
    lab = new NodeLab();
    fake = fakeDriver();
    lab.volumes = fake.driver;
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    sinon.restore();
    await lab.stopAgent();
    lab.stop();
  });

  it('are kept by the driver that the node advertises', () => {
    const stored = lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!;
    expect(value<StoredNode>(stored).volumeDriver).to.equal('directory');
  });

  const toVolume = (change: Partial<StoredVolume> = {}): StoredVolume =>
    makeVolume(
      { ...nodeRecord.metadata, uid: ID, createdAt: AT, updatedAt: AT },
      { class: 'ephemeral', sizeBytes: SIZE, ...change },
    );
  const declare = async (change: Partial<StoredVolume> = {}, primaryNode: string = LAB_NODE.id) => {
    await lab.put(keys.volume(LAB_TENANT, ID), toVolume(change));
    const told = { id: ID, phase: 'Materializing', reason: 'volume_materializing', message: '' } as const;
    const status: VolumeStatus = { ...told, primaryNode, copies: [], since: AT };
    await lab.put(keys.volumeStatus(LAB_TENANT, ID), status);
    await lab.clock.pass(1_000);
  };
  const report = () => {
    const entry = lab.cache.get(keys.volumeReport(LAB_TENANT, ID, LAB_NODE.id));
    return entry && value<VolumeReport>(entry);
  };
  const deleted = toVolume({ metadata: { ...toVolume().metadata, deletedAt: AT } });
  const mounting = (subPath?: string) => {
    const mount = {
      volumeId: ID,
      type: 'volume',
      mountPath: '/data',
      readOnly: false,
      ...(subPath && { subPath }),
    } as const;
    return replica({ template: { image: 'registry.test/web:1', secretsVersion: 0, volumes: [mount] } });
  };
  const containerReport = () => {
    const { uid } = replica();
    const entry = lab.cache.get(keys.report(LAB_TENANT, LAB_NODE.id, uid));
    return entry && value<Report>(entry);
  };

  it('are made where their status says, and reported with what keeps them', async () => {
    await declare({}, 'node_2');
    expect([...fake.held]).to.deep.equal([]);
    await declare();
    expect([...fake.held]).to.deep.equal([[ID, SIZE]]);
    expect(report()).to.include({
      nodeId: LAB_NODE.id,
      state: 'ready',
      driver: 'directory',
      limits: 'The size is only measured.',
      usedBytes: 0,
    });
  });

  it('are measured, and small changes are no news', async () => {
    await declare();
    const { revision } = lab.cache.get(keys.volumeReport(LAB_TENANT, ID, LAB_NODE.id))!;
    fake.state.used = 1000;
    await lab.clock.pass(65_000);
    expect(lab.cache.get(keys.volumeReport(LAB_TENANT, ID, LAB_NODE.id))!.revision).to.equal(revision);
    fake.state.used = 2 ** 21;
    await lab.clock.pass(65_000);
    expect(report()?.usedBytes).to.equal(2 ** 21);
  });

  it('have the room that is free now, which is stored when it changes by much', async () => {
    await lab.stopAgent();
    const GIB = 2 ** 30;
    let free = 10 * GIB;
    lab.room = new VolumeRoom(lab.clock, free, (usedBytes = 0) => Promise.resolve(free + usedBytes));
    await lab.startAgent();
    await declare();
    const stored = () => lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!;
    const disk = () => value<StoredNode>(stored()).capacity.disk;
    await lab.clock.pass(65_000);
    expect(disk()).to.equal(10 * GIB);
    const { revision } = stored();
    free = 9.9 * GIB;
    await lab.clock.pass(65_000);
    expect(stored().revision, 'nothing is written for little').to.equal(revision);
    free = 2 * GIB;
    fake.state.used = 3 * GIB;
    await lab.clock.pass(165_000);
    expect(disk(), 'what volumes hold was taken from it').to.equal(5 * GIB);
  });

  it('keep the room that they had while they are told anew, or cannot be measured', async () => {
    const node = new NodeVolumes(
      { clock: lab.clock, random: seededRandom(1), log: silentLogger, volumes: fake.driver } as unknown as AgentEnv,
      async () => undefined,
      async () => undefined,
    );
    const volume = { id: ID, name: 'data', type: 'volume', sizeBytes: SIZE } as const;
    fake.state.used = 2 ** 21;
    node.assign([volume], true);
    expect(node.countUsed(), 'before it was looked at').to.equal(undefined);
    await lab.clock.pass(1_000);
    expect(node.countUsed()).to.equal(2 ** 21);
    node.assign([volume], true);
    expect(node.countUsed(), 'before it was looked at again').to.equal(2 ** 21);
    fake.state.failure = new VolumeFault('failed', 'the disk hangs; wait');
    node.check();
    await lab.clock.pass(1_000);
    expect(node.countUsed(), 'while it fails').to.equal(2 ** 21);
    node.assign([], true);
    expect(node.countUsed()).to.equal(0);
    await node.queue.stop(0);
  });

  it('are ready also where they cannot be measured', async () => {
    fake.state.used = 2 ** 21;
    await declare();
    sinon.stub(fake.driver, 'usage').rejects(new VolumeFault('failed', 'a file went away; measure again'));
    await lab.clock.pass(65_000);
    expect(report()).to.include({ state: 'ready', usedBytes: 2 ** 21 });
  });

  it('that were made once are not asked for as new ones', async () => {
    const materialise = sinon.spy(fake.driver, 'materialise');
    await declare();
    expect(materialise.lastCall.args[0]).to.not.have.property('isMade');
    const entry = lab.cache.get(keys.volumeStatus(LAB_TENANT, ID))!;
    await lab.put(entry.key, { ...value<VolumeStatus>(entry), phase: 'Ready' });
    await lab.clock.pass(65_000);
    expect(materialise.lastCall.args[0]).to.include({ id: ID, isMade: true });
  });

  it('are brought to the size that is asked for, also after a restart of the agent', async () => {
    await declare();
    expect(report()).to.include({ capacityBytes: SIZE, targetBytes: SIZE });
    await declare({ sizeBytes: 2 * SIZE });
    expect([...fake.held]).to.deep.equal([[ID, 2 * SIZE]]);
    expect(report()).to.include({ state: 'ready', capacityBytes: 2 * SIZE, targetBytes: 2 * SIZE });
    await lab.stopAgent();
    await declare({ sizeBytes: 3 * SIZE });
    await lab.startAgent();
    await lab.clock.pass(2_000);
    expect(report()).to.include({ capacityBytes: 3 * SIZE, targetBytes: 3 * SIZE });
  });

  it('that cannot have the size stay as they are, which is told, and it is tried again', async () => {
    await declare();
    fake.state.refusal = new VolumeFault('no_space', 'the disk is full; make room');
    await declare({ sizeBytes: 2 * SIZE });
    const told = { state: 'ready', capacityBytes: SIZE, targetBytes: 2 * SIZE, message: 'the disk is full; make room' };
    expect(report()).to.include(told);
    const resize = sinon.spy(fake.driver, 'resize');
    await lab.clock.pass(20_000);
    expect(resize.callCount).to.be.greaterThan(1);
    fake.state.refusal = undefined;
    await lab.clock.pass(60_000);
    expect(report())
      .to.include({ capacityBytes: 2 * SIZE })
      .and.not.to.have.property('message');
    const calls = resize.callCount;
    await lab.clock.pass(65_000);
    expect(resize.callCount).to.equal(calls);
  });

  it('that cannot have the size cost no writes, and are tried ever more seldom', async () => {
    await declare();
    let free = 2 ** 40;
    const resize = sinon.stub(fake.driver, 'resize').callsFake(async () => {
      free -= 2 ** 20;
      checkReserve(SIZE, { freeBytes: free, reserveBytes: 2 ** 41 });
      throw new Error('it was not refused');
    });
    await declare({ sizeBytes: 2 * SIZE });
    const revision = () => lab.cache.get(keys.volumeReport(LAB_TENANT, ID, LAB_NODE.id))!.revision;
    const told = revision();
    expect(report()).to.include({ capacityBytes: SIZE, targetBytes: 2 * SIZE });
    await lab.clock.pass(60_000);
    expect(resize.callCount).to.be.within(2, 6);
    await lab.clock.pass(540_000);
    expect(revision()).to.equal(told);
    expect(resize.callCount).to.be.at.most(10);
    const calls = resize.callCount;
    await declare({ sizeBytes: 3 * SIZE });
    expect(resize.callCount, 'another size is tried at once').to.be.greaterThan(calls);
  });

  it('that fail by something else after their size was refused are tried now and then, and not without a break', async () => {
    await declare();
    fake.state.refusal = new VolumeFault('no_space', 'the disk is full; make room');
    await declare({ sizeBytes: 2 * SIZE });
    let tries = 0;
    sinon.stub(fake.driver, 'materialise').callsFake(() => {
      // Without a break no time would ever pass here.
      if (tries++ > 100) return new Promise<never>(() => undefined);
      return Promise.reject(new VolumeFault('failed', 'EIO; see the disk'));
    });
    await lab.clock.pass(120_000);
    expect(report()).to.include({ state: 'failed', message: 'EIO; see the disk' });
    expect(tries).to.be.within(2, 60);
  });

  it('are shrunk in steps, which are told as such', async () => {
    await declare({ sizeBytes: 3 * SIZE });
    const steps = [2 * SIZE, SIZE];
    const targets: unknown[] = [];
    sinon.stub(fake.driver, 'resize').callsFake(async id => {
      if (steps.length === 1) targets.push(report()?.targetBytes);
      const sizeBytes = steps.shift()!;
      fake.held.set(id, sizeBytes);
      await sleep(lab.clock, 11_000);
      return { id, sizeBytes };
    });
    await declare();
    await lab.clock.pass(30_000);
    expect(targets, 'what was reached').to.deep.equal([2 * SIZE]);
    expect(report()).to.include({ capacityBytes: SIZE, targetBytes: SIZE });
  });

  it('that the node cannot provide are told, and tried again', async () => {
    fake.state.failure = new VolumeFault('no_space', 'the disk is full; make room');
    await declare();
    expect(report()).to.include({ state: 'failed', message: 'the disk is full; make room' });
    fake.state.failure = undefined;
    await lab.clock.pass(10_000);
    expect(report()).to.include({ state: 'ready' });
  });

  it('lose their bytes by order only, and that is reported, also after a restart of the agent', async () => {
    await declare();
    await lab.delete(keys.volumeStatus(LAB_TENANT, ID));
    await lab.clock.pass(65_000);
    expect([...fake.held.keys()]).to.deep.equal([ID]);
    await lab.stopAgent();
    await declare(deleted);
    expect([...fake.held.keys()]).to.deep.equal([ID]);
    await lab.startAgent();
    await lab.clock.pass(2_000);
    expect([...fake.held.keys()]).to.deep.equal([]);
    expect(report()).to.include({ state: 'removed' });
  });

  it('are not told to be removed while the disk that holds them is away', async () => {
    await declare();
    fake.state.failure = new VolumeFault('not_found', 'the disk is not mounted; mount it');
    await declare(deleted);
    expect(report()).to.include({ state: 'failed', isMissing: true });
    fake.state.failure = undefined;
    await lab.clock.pass(10_000);
    expect(report()).to.include({ state: 'removed' });
    expect([...fake.held.keys()]).to.deep.equal([]);
  });

  it('are mounted by containers, below a folder of them', async () => {
    const created = sinon.spy(lab.engine, 'create');
    await declare();
    await lab.assign(mounting('sub'));
    await lab.clock.pass(5_000);
    expect(lab.running).to.have.length(1);
    expect(created.firstCall.args[0].mounts).to.deep.equal([
      { kind: 'bind', source: `/volumes/${ID}/sub`, target: '/data', readOnly: false },
    ]);
  });

  it('are left alone by an agent that does not have the node', async () => {
    expect(fake.state.recoveries).to.equal(1);
    const copy = await lab.startCopy();
    await lab.clock.pass(5 * 60_000);
    expect(fake.state.recoveries).to.equal(1);
    lab.wire.up = false;
    await lab.clock.pass(60_000);
    expect(fake.state.recoveries, 'the first one is gone').to.equal(2);
    copy.stop();
    lab.wire.up = true;
    await lab.clock.pass(60_000);
  });

  it('keep nothing waiting that hangs while they are brought back', async () => {
    await lab.stopAgent();
    sinon.stub(fake.driver, 'recover').returns(new Promise(() => undefined));
    await lab.startAgent();
    await declare();
    await lab.assign(mounting());
    await lab.clock.pass(5_000);
    expect(lab.running).to.have.length(1);
  });

  it('have one writer at a time, whatever is assigned', async () => {
    await declare();
    await lab.assign(mounting());
    await lab.clock.pass(5_000);
    await lab.assign({ ...mounting(), uid: 'rep_2', deployment: 'other', deploymentUid: 'another' });
    await lab.clock.pass(30_000);
    expect(lab.running).to.deep.equal(['web running']);
    expect(lab.report('rep_2')).to.include({ reason: 'volume_busy' });
    expect(lab.report('rep_2')?.message).to.contain('still written to by web');
    await lab.delete(keys.replica(LAB_TENANT, 'web', 0));
    await lab.clock.pass(2 * 60_000);
    expect(lab.running).to.deep.equal(['other running']);
  });

  it('that fail a container which is to be restarted are tried ever more seldom, and it comes back', async () => {
    await declare();
    await lab.assign(mounting());
    await lab.clock.pass(2 * 60_000);
    const { mountPoint } = fake.driver;
    let tries = 0;
    let isAway = true;
    fake.driver.mountPoint = (id, subPath) => {
      if (tries++ > 200) isAway = false; // a loop without waits would never end
      return isAway ? Promise.reject(new VolumeFault('failed', 'the disk is away; mount it')) : mountPoint(id, subPath);
    };
    lab.engine.crash(lab.engine.containers[0]!.id, 1);
    await lab.clock.pass(10 * 60_000);
    expect(tries).to.be.within(10, 18);
    expect(containerReport()).to.include({ restarts: 0 });
    expect(lab.running).to.deep.equal(['web exited']);
    isAway = false;
    await lab.clock.pass(60_000);
    expect(containerReport()).to.include({ state: 'running', restarts: 1 });
  });

  it('of memory need no disk', async () => {
    const created = sinon.spy(lab.engine, 'create');
    await declare({ type: 'tmpfs' });
    expect(report()).to.include({ state: 'ready', driver: 'tmpfs' });
    expect(report()?.limits).to.contain('of its own');
    await lab.assign(mounting());
    await lab.clock.pass(5_000);
    expect(created.firstCall.args[0].mounts).to.deep.equal([
      { kind: 'tmpfs', target: '/data', readOnly: false, sizeBytes: SIZE },
    ]);
    expect([...fake.held]).to.deep.equal([]);
  });

  it('of type bind are folders that are found, never measured, and let go of', async () => {
    const created = sinon.spy(lab.engine, 'create');
    await declare({ type: 'bind' });
    expect(report()).to.include({ state: 'failed' });
    expect(report()?.message).to.contain('type bind, which this agent does not provide');
    const released: string[] = [];
    const folders: Partial<BoundFolders> = {
      check: ({ name }) => {
        if (name === 'data') return Promise.resolve();
        throw new VolumeFault('refused', 'there is no folder; make it');
      },
      mountPoint: ({ name }) => Promise.resolve(`/pinned/${name}`),
      release: id => Promise.resolve(void released.push(id)),
    };
    await lab.stopAgent();
    lab.binds = folders as BoundFolders;
    await lab.startAgent();
    await declare({ type: 'bind', name: 'other' });
    expect(report()).to.include({ state: 'failed', message: 'there is no folder; make it' });
    expect(report()).not.to.have.property('isMissing');
    await declare({ type: 'bind' });
    await lab.clock.pass(10_000);
    expect(report()).to.include({ state: 'ready', driver: 'bind', capacityBytes: SIZE, targetBytes: SIZE });
    expect(report()).not.to.have.property('usedBytes');
    await lab.assign(mounting());
    await lab.clock.pass(5_000);
    expect(created.firstCall.args[0].mounts).to.deep.equal([
      { kind: 'bind', source: '/pinned/data', target: '/data', readOnly: false },
    ]);
    await declare({ ...deleted, type: 'bind' });
    expect([report()?.state, released, [...fake.held]]).to.deep.equal(['removed', [ID], []]);
  });

  it('that are not here, or going, keep a container from being made', async () => {
    await lab.assign(mounting());
    await lab.clock.pass(2_000);
    expect(lab.running).to.deep.equal([]);
    expect(containerReport()).to.include({ reason: 'volume_missing' });
    await declare(deleted);
    expect(lab.running).to.deep.equal([]);
    await declare();
    await lab.clock.pass(60_000);
    expect(lab.running).to.have.length(1);
  });
});
