import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { Report } from '../../../crds/report/index.js';
import type {
  AssignedVolume,
  SeenVolume,
  StoredVolume,
  VolumeReport,
  VolumeStatus,
} from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { seededRandom, untilAborted } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { LAB_NODE, LAB_TENANT, nodeRecord, replica } from '../../link/dispatcher-lab.testing.js';
import { silentLogger } from '../../log/index.js';
import { value } from '../../store/index.js';
import type { AgentEnv } from '../agent-env.js';
import { createMemoryDisk } from '../disk.js';
import { EngineUnreachableFault } from '../engine/index.js';
import { NodeLab } from '../node-lab.testing.js';
import type { FencerDeadline } from '../fencer/index.js';
import { type FindUser, NodeVolumes } from './node-volumes.js';
import { makeSyncName, MemoryDriver } from '../replication/memory-driver.testing.js';
import { type Peers, PeerFault } from '../replication/peers.js';
import { formatAsideName } from '../replication/record.js';
import { VolumeFault } from '../volumes/index.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const AT = new Date(0).toISOString();
const S = makeSyncName(1, 1);
const ASIDE = formatAsideName(makeTerm(1));

describe('replicated volumes of a node', () => {
  let lab: NodeLab;
  let disk: MemoryDriver;

  beforeEach(async () => {
    lab = new NodeLab();
    disk = new MemoryDriver();
    lab.volumes = disk.driver;
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const declare = async (epoch: number, primaryNode: string, change: Partial<VolumeStatus> = {}) => {
    const volume = makeVolume({ ...nodeRecord.metadata, uid: ID, createdAt: AT, updatedAt: AT });
    const told = { id: ID, phase: 'Ready', reason: 'volume_materializing', message: '', since: AT } as const;
    const copies = primaryNode === LAB_NODE.id ? [] : [{ nodeId: LAB_NODE.id, state: 'syncing' } as const];
    await lab.put(keys.volume(LAB_TENANT, ID), volume);
    const status: VolumeStatus = { ...told, epoch, lineage: [makeTerm(epoch)], primaryNode, copies, ...change };
    await lab.put(keys.volumeStatus(LAB_TENANT, ID), status);
    await lab.clock.pass(2_000);
  };
  const make = () => disk.driver.materialise({ id: ID, sizeBytes: 2 ** 20 });
  const report = () => {
    const entry = lab.cache.get(keys.volumeReport(LAB_TENANT, ID, LAB_NODE.id));
    return entry && value<VolumeReport>(entry);
  };
  const containerReport = () => {
    const told = lab.cache.get(keys.report(LAB_TENANT, LAB_NODE.id, consumer().uid));
    return told && value<Report>(told);
  };
  const mount = { volumeId: ID, type: 'volume', mountPath: '/data', readOnly: false } as const;
  const consumer = () => replica({ template: { image: 'registry.test/web:1', secretsVersion: 0, volumes: [mount] } });

  it('keep what mounts them waiting while they are held, which is no fault of it, however long that is', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    await lab.assign(consumer());
    await lab.clock.pass(5_000);
    expect(lab.running).to.deep.equal(['web running']);
    await declare(1, LAB_NODE.id, { phase: 'Degraded', reason: 'volume_moving', finalFor: 2 });
    lab.engine.crash(lab.engine.containers[0]!.id, 143);
    await lab.clock.pass(600_000);
    expect(containerReport()).to.include({ state: 'creating', reason: 'volume_held', restarts: 0 });
    expect(containerReport()?.message).to.match(/moves to another node/);
    await declare(1, LAB_NODE.id);
    await lab.clock.pass(5_000);
    expect(lab.running, 'soon after it may').to.deep.equal(['web running']);
  });

  it('are reported with the part that the node has, which it keeps over a restart', async () => {
    await declare(3, 'node_2');
    expect(report()).to.include({ state: 'ready', role: 'replica', epoch: 3 });
    await lab.stopAgent();
    await lab.startAgent();
    await declare(2, 'node_2');
    expect(report())
      .to.include({ state: 'failed', role: 'replica', epoch: 3 })
      .and.to.have.property('message')
      .that.matches(/earlier epoch/);
  });

  it('are not mounted where the copy is, and are once it was promoted', async () => {
    await declare(1, 'node_2');
    await lab.assign(consumer());
    await lab.clock.pass(5_000);
    expect(lab.running).to.deep.equal([]);
    expect(containerReport()).to.include({ state: 'creating', reason: 'volume_held' });

    await disk.driver.snapshot(ID, S);
    disk.volumes.get(ID)!.snapshots.set(S, 'of the primary');
    const file = `replication-${ID}.json`;
    await lab.stopAgent();
    lab.files.set(
      file,
      JSON.stringify({ ...JSON.parse(lab.files.get(file)!), synced: { snapshot: S, at: AT, ...makeTerm(1) } }),
    );
    await lab.startAgent();
    await declare(2, LAB_NODE.id);
    await lab.clock.pass(60_000);
    expect(disk.read(ID)).to.equal('of the primary');
    expect(report()).to.include({ state: 'ready', role: 'primary', epoch: 2 });
    expect(lab.running).to.have.length(1);
  });

  it('that have no complete copy here are not promoted', async () => {
    await declare(1, 'node_2');
    await declare(2, LAB_NODE.id);
    expect(report()).to.include({ state: 'failed' });
    expect(disk.steps).to.deep.equal([]);
  });

  it('of which this node was the primary are not made anew while its disk is away', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    disk.write(ID, 'of the primary');
    const away = disk.volumes.get(ID)!;
    disk.volumes.delete(ID);
    await declare(2, 'node_2');
    expect(report()).to.include({ state: 'failed', isMissing: true }).and.to.not.have.property('divergent');
    disk.volumes.set(ID, away);
    await lab.clock.pass(10_000);
    expect(report()).to.include({ state: 'ready', role: 'replica' }).and.to.have.property('divergent').with.length(1);
    expect(away.snapshots.get(ASIDE)).to.equal('of the primary');
  });

  it('of which this node was the primary are set aside when nothing writes any more', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    await lab.assign(consumer());
    await lab.clock.pass(5_000);
    expect(lab.running).to.have.length(1);
    lab.latencyMs = operation => (operation === 'stop' ? 8_000 : 0);
    const { tenant, deployment, slot } = consumer();
    await lab.delete(keys.replica(tenant, deployment, slot));
    await declare(2, 'node_2');
    expect(report())
      .to.include({ state: 'failed' })
      .and.to.have.property('message')
      .that.matches(/may still write/);
    disk.write(ID, 'flushed at the end');
    await lab.clock.pass(30_000);
    expect(report()).to.include({ state: 'ready', role: 'replica' });
    expect(disk.volumes.get(ID)!.snapshots.get(ASIDE)).to.equal('flushed at the end');
  });

  it('of which this node was the primary are not set aside while a container may run whose start was not answered', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    const isLost = { start: false };
    lab.failure = (operation, when) => {
      if (operation === 'start' && when === 'after') isLost.start = true;
      const fails = isLost.start && (operation === 'list' || operation === 'start');
      return fails ? new EngineUnreachableFault('it does not answer') : undefined;
    };
    await lab.assign(consumer());
    await lab.clock.pass(5_000);
    expect(lab.running, 'and the agent does not know').to.deep.equal(['web running']);
    await declare(2, 'node_2');
    await lab.clock.pass(10_000);
    expect(report())
      .to.include({ state: 'failed' })
      .and.to.have.property('message')
      .that.matches(/container web may still write/);
    disk.write(ID, 'written meanwhile');
    lab.failure = undefined;
    const { tenant, deployment, slot } = consumer();
    await lab.delete(keys.replica(tenant, deployment, slot));
    await lab.clock.pass(120_000);
    expect(report()).to.include({ state: 'ready', role: 'replica' });
    expect(disk.volumes.get(ID)!.snapshots.get(ASIDE)).to.equal('written meanwhile');
  });

  it('of which this node was the primary wait for what is known to write to them, and for nothing else', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    await lab.assign(replica());
    await lab.clock.pass(5_000);
    expect(lab.running).to.have.length(1);
    lab.latencyMs = operation => (operation === 'stop' ? 60_000 : 0);
    const { tenant, deployment, slot } = replica();
    await lab.delete(keys.replica(tenant, deployment, slot));
    await declare(2, 'node_2');
    await lab.clock.pass(10_000);
    expect(lab.running, 'what mounts nothing runs on').to.have.length(1);
    expect(report()).to.include({ state: 'ready', role: 'replica', epoch: 2 });
    await lab.clock.pass(120_000);
  });

  it('say also when they fail that what writes to them is fenced, and what they have', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    expect(report()).to.include({ state: 'ready', fencesAfterSeconds: 30 });
    const away = disk.volumes.get(ID)!;
    disk.volumes.delete(ID);
    await lab.clock.pass(65_000);
    expect(report()).to.include({ state: 'failed', isMissing: true, fencesAfterSeconds: 30 });
    disk.volumes.set(ID, away);
    await declare(2, 'node_2');
    await lab.clock.pass(10_000);
    expect(report()).to.include({ state: 'ready', syncedEpoch: 1 }).and.to.have.property('syncedAt');
    disk.volumes.delete(ID);
    const refuse = {
      ...disk.driver,
      materialise: () => Promise.reject(new VolumeFault('failed', 'EIO; see the disk')),
    };
    await lab.stopAgent();
    lab.volumes = refuse;
    await lab.startAgent();
    await lab.clock.pass(10_000);
    expect(report()).to.include({ state: 'failed', syncedEpoch: 1 }).and.to.not.have.property('fencesAfterSeconds');
  });

  it('promise nothing any more when their agent ends by order, whose writers go on', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    expect([report()?.fencesAfterSeconds, lab.armed.length]).to.deep.equal([30, 1]);
    await lab.stopAgent();
    expect([report()?.fencesAfterSeconds, lab.armed]).to.deep.equal([undefined, []]);
    await lab.startAgent();
    await lab.clock.pass(10_000);
    expect([report()?.fencesAfterSeconds, lab.armed.length]).to.deep.equal([30, 1]);
  });

  it('are still guarded when their agent ends and cannot say so', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    lab.wire.up = false;
    await lab.stopAgent();
    expect([report()?.fencesAfterSeconds, lab.armed.length]).to.deep.equal([30, 1]);
  });

  it('that another node may have later bytes of are used by nothing until that is settled', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    await lab.assign(consumer());
    await lab.clock.pass(5_000);
    expect(lab.running).to.deep.equal(['web running']);
    await declare(1, LAB_NODE.id, { phase: 'Degraded', reason: 'volume_epoch_behind' });
    await lab.clock.pass(120_000);
    expect(lab.running).to.deep.equal(['web exited']);
    await declare(1, LAB_NODE.id);
    await lab.clock.pass(600_000);
    expect(lab.running).to.deep.equal(['web running']);
  });

  it('that are to move are mounted by nothing that is started, until they stay after all', async () => {
    await make();
    await declare(1, LAB_NODE.id, { finalFor: 2 });
    await lab.assign(consumer());
    await lab.clock.pass(10_000);
    expect(lab.running).to.deep.equal([]);
    const told = lab.cache.get(keys.report(LAB_TENANT, LAB_NODE.id, consumer().uid));
    expect(told && value<Report>(told).message).to.match(/moves to another node/);
    await declare(1, LAB_NODE.id);
    await lab.clock.pass(120_000);
    expect(lab.running).to.deep.equal(['web running']);
  });

  it('leave nothing behind when they are removed', async () => {
    await make();
    await declare(1, LAB_NODE.id);
    expect([...lab.files.keys()].filter(name => name.startsWith('replication-'))).to.have.length(1);
    const entry = lab.cache.get(keys.volume(LAB_TENANT, ID))!;
    const volume = value<StoredVolume>(entry);
    await lab.put(entry.key, { ...volume, metadata: { ...volume.metadata, deletedAt: AT } });
    await lab.clock.pass(2_000);
    expect(report()).to.include({ state: 'removed' });
    expect([...lab.files.keys()].filter(name => name.startsWith('replication-'))).to.deep.equal([]);
  });
});

/** A node that has a copy of a volume in epoch 2. */
const setUpCopy = async (find?: FindUser) => {
  const disk = new MemoryDriver();
  const told: SeenVolume[] = [];
  const { clock, node, close } = openVolumes(async seen => void told.push(...seen), find, disk);
  await disk.driver.materialise(volume);
  node.assign([{ ...volume, replication: { ...asPrimary, role: 'replica', ...makeTerm(2) } }], true);
  await clock.pass(5_000);
  const order = async (removedIn?: number) => {
    node.assign([
      { ...volume, isDeleted: true, lineage: [], ...(removedIn !== undefined && { removedIn }) } as AssignedVolume,
    ]);
    await clock.pass(10_000);
    return told.at(-1);
  };
  return { disk, told, order, close, pass: (ms: number) => clock.pass(ms) };
};

describe('an order to remove a copy', () => {
  it('of an earlier epoch than it has seen is refused, with the remedy, and every byte stays', async () => {
    const { disk, order, close } = await setUpCopy();
    const seen = await order(1);
    expect(seen).to.include({ state: 'failed', epoch: 2 });
    expect(seen?.message).to.match(/earlier epoch.*its bytes are kept.*restore a newer backup/);
    expect(disk.volumes.has(ID)).to.equal(true);
    await close();
  });

  it('that names no epoch is refused, and every byte stays', async () => {
    const { disk, order, close } = await setUpCopy();
    const seen = await order();
    expect(seen).to.include({ state: 'failed', epoch: 2 });
    expect(seen?.message).to.match(/names no epoch.*its bytes are kept/);
    expect(disk.volumes.has(ID)).to.equal(true);
    await close();
  });

  for (const removedIn of [2, 3]) {
    it(`of epoch ${removedIn} is carried out`, async () => {
      const { disk, order, close } = await setUpCopy();
      expect(await order(removedIn)).to.deep.equal({ id: ID, state: 'removed' });
      expect(disk.volumes.has(ID)).to.equal(false);
      await close();
    });
  }
});

describe('a copy that a container still reads', () => {
  it('is removed when that has ended, whatever was ordered', async () => {
    let reader: string | undefined = 'the container web';
    const { disk, told, order, close, pass } = await setUpCopy(async (_id, who) =>
      who?.orReader ? reader : undefined,
    );
    const seen = await order(2);
    expect(seen).to.include({ state: 'failed' });
    expect(seen?.message).to.match(/^the container web has it mounted; it is removed when that has ended/);
    expect(disk.volumes.has(ID)).to.equal(true);
    reader = undefined;
    await pass(10_000);
    expect(told.at(-1)).to.deep.equal({ id: ID, state: 'removed' });
    await close();
  });
});

/** The volumes of a node that nothing answers, beside an agent. */
function openVolumes(
  report: (seen: readonly SeenVolume[]) => Promise<void>,
  find: FindUser = async () => undefined,
  disk = new MemoryDriver(),
  armed: string[][] = [],
) {
  const [clock, end] = [new ManualClock(), new AbortController()];
  const peers: Peers = {
    address: undefined,
    listen: (_handle, signal) => untilAborted(signal),
    connect: () => Promise.reject(new PeerFault('nobody answers; it is tried again')),
  };
  const common = { clock, random: seededRandom(1), log: silentLogger, disk: createMemoryDisk(), engine: {} };
  const arm = async (deadlines: readonly FencerDeadline[]) => void armed.push(deadlines.map(each => each.volume));
  const fencer = { arm };
  const env = { ...common, volumes: disk.driver, peers, fencer } as unknown as AgentEnv;
  const node = new NodeVolumes(env, report, find);
  node.fence.recordContact(0);
  const parts = { view: { isListed: true, containers: [] }, queue: { add: () => undefined } };
  void node.replicate({ ...parts, feed: { restart: () => undefined } } as never, end.signal);
  const close = async () => {
    end.abort();
    await clock.pass(5_000);
  };
  return { clock, node, close };
}

const peer = { nodeId: 'node_2', publicKey: 'key', address: '127.0.0.1:1' };
const asPrimary = {
  ...makeTerm(1),
  role: 'primary',
  peers: [peer],
  intervalSeconds: 5,
  fenceAfterSeconds: 30,
} as const;
const volume = { id: ID, name: 'data', type: 'volume', sizeBytes: 2 ** 20 } as const;

describe('the report of a volume', () => {
  it('has nothing of an earlier one when there is news of copies while it is sent', async () => {
    const told: SeenVolume[] = [];
    let sent = Promise.resolve();
    const { clock, node, close } = openVolumes(async seen => {
      await sent;
      told.push(...seen);
    });
    node.assign([{ ...volume, replication: asPrimary }], true);
    await clock.pass(15_000);
    expect(told.at(-1)).to.include({ role: 'primary', fencesAfterSeconds: 30 });
    let send = () => undefined as void;
    sent = new Promise<void>(resolve => {
      send = resolve;
    });
    node.assign([{ ...volume, replication: { ...asPrimary, role: 'replica', ...makeTerm(2) } }]);
    await clock.pass(1_000);
    node.queue.add(`${ID} copies`);
    await clock.pass(1_000);
    send();
    await clock.pass(1_000);
    expect(told.at(-1)).to.include({ role: 'replica', epoch: 2 }).and.to.not.have.property('fencesAfterSeconds');
    await close();
  });
});

describe('an agent that ends', () => {
  const setUp = async () => {
    const told: SeenVolume[] = [];
    const armed: string[][] = [];
    let send = () => Promise.resolve();
    const report = async (seen: readonly SeenVolume[]) => {
      await send();
      told.push(...seen);
    };
    const { clock, node, close } = openVolumes(report, undefined, new MemoryDriver(), armed);
    node.assign([{ ...volume, replication: asPrimary }], true);
    await clock.pass(15_000);
    const sendBy = (next: () => Promise<void>) => {
      send = next;
    };
    return { clock, node, close, told, armed, sendBy };
  };

  it('takes its promise back after the report that is still under way', async () => {
    const { clock, node, close, told, armed, sendBy } = await setUp();
    const answers: (() => void)[] = [];
    sendBy(() => new Promise(resolve => answers.push(resolve)));
    node.assign([{ ...volume, sizeBytes: 2 ** 21, replication: asPrimary }]);
    await clock.pass(1_000);
    sendBy(() => Promise.resolve());
    const ended = node.withdraw();
    await clock.pass(1_000);
    for (const answer of answers) answer();
    await clock.pass(1_000);
    await ended;
    expect(told.at(-1)).to.include({ state: 'ready', role: 'primary' }).and.to.not.have.property('fencesAfterSeconds');
    expect(armed.at(-1), 'what the fencer guards').to.deep.equal([]);
    await close();
  });

  it('leaves the fencer to a volume of which a report may still arrive that promises something', async () => {
    const { clock, node, close, armed, sendBy } = await setUp();
    sendBy(() => Promise.reject(new Error('the answer was lost')));
    node.assign([{ ...volume, sizeBytes: 2 ** 21, replication: asPrimary }]);
    await clock.pass(100);
    sendBy(() => Promise.resolve());
    await node.withdraw();
    expect(armed.at(-1), 'what the fencer guards').to.deep.equal([ID]);
    await close();
  });
});

describe('the last snapshot of a volume that is to move', () => {
  it('is told no more once something may write again', async () => {
    const told: SeenVolume[] = [];
    const writers: string[] = [];
    const { clock, node, close } = openVolumes(
      async seen => void told.push(...seen),
      async () => writers[0],
    );
    node.assign([{ ...volume, replication: { ...asPrimary, finalFor: 2 } }], true);
    await clock.pass(15_000);
    expect(told.at(-1)?.final).to.include({ epoch: 2 });
    writers.push('the container web');
    await clock.pass(45_000);
    expect(told.at(-1)).to.include({ state: 'ready', role: 'primary', epoch: 1 }).and.to.not.have.property('final');
    await close();
  });
});
