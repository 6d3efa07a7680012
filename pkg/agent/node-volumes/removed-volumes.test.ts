import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { VolumeReport, VolumeStatus } from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { declareRestore, listConfirmed, previewRestore } from '../../link/index.js';
import { LAB_NODE, LAB_TENANT, nodeRecord, replica } from '../../link/dispatcher-lab.testing.js';
import { value } from '../../store/index.js';
import { describeRemoved } from '../reports/describe-removed.js';
import { NodeLab } from '../node-lab.testing.js';
import { MemoryDriver } from '../replication/memory-driver.testing.js';
import type { VolumeDriver } from '../volumes/index.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const AT = new Date(0).toISOString();
const MINUTE = 60_000;

describe('removed volumes of a node', () => {
  let lab: NodeLab;
  /** The time that was let pass for what is kept, in minutes. */
  let minutes: number;
  let reported: NonNullable<VolumeDriver['removed']>['reported'];
  /** What each was removed with. */
  let removed: unknown[];
  beforeEach(async () => {
    lab = new NodeLab();
    [minutes, reported, removed] = [0, [], []];
    const { driver } = new MemoryDriver();
    lab.volumes = {
      ...driver,
      list: () => Promise.resolve([]),
      remove: (id, about) => {
        removed.push(about);
        return driver.remove(id);
      },
      removed: {
        get reported() {
          return reported;
        },
        countBytes: () => Promise.resolve(0),
        age: async ms => void (minutes += ms / MINUTE),
      },
    };
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const node = () => value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!);
  const countIn = async (ms: number) => {
    const before = minutes;
    await lab.clock.pass(ms);
    return minutes - before;
  };

  it('are kept longer by the time in which the control plane does not answer', async () => {
    await lab.assign(replica());
    expect(await countIn(10 * MINUTE)).to.be.within(9, 10);
    lab.wire.up = false;
    await lab.clock.pass(MINUTE);
    expect(await countIn(60 * MINUTE)).to.equal(0);
    lab.wire.up = true;
    await lab.clock.pass(2 * MINUTE);
    expect(await countIn(10 * MINUTE)).to.be.within(9, 10);
  });

  it('are kept longer by the time in which a restore is not declared', async () => {
    await lab.assign(replica());
    const backup = lab.store.save();
    await lab.assign(replica({ uid: 'rep_2', deployment: 'shop' }));
    await lab.clock.pass(10_000);
    lab.store.restore(backup);
    await lab.clock.pass(2 * MINUTE);
    expect(await countIn(10 * MINUTE)).to.equal(0);
    await lab.stopAgent();
    await lab.startAgent();
    expect(await countIn(10 * MINUTE), 'of another agent').to.equal(0);
    await declareRestore(lab.store, lab.clock, listConfirmed(await previewRestore(lab.store)));
    await lab.clock.pass(2 * MINUTE);
    expect(await countIn(10 * MINUTE)).to.be.within(9, 10);
  });

  it('are reported with the heartbeats', async () => {
    const name = `${ID}.1`;
    reported = [{ name, volume: 'data', bytes: 5, until: 0 }];
    await lab.clock.pass(10_000);
    expect(node().removedVolumes).to.deep.equal({ volumes: [{ name, volume: 'data', bytes: 5, until: AT }] });
    reported = [];
    await lab.clock.pass(10_000);
    expect(node()).to.not.have.property('removedVolumes');
  });

  it('are reported by the hundred, the latest first, and under names that a volume can have', () => {
    const all = Array.from({ length: 130 }, (_, n) => ({
      name: `${ID}.${n + 1}`,
      volume: 'No Name',
      bytes: 0,
      until: 0,
    }));
    const { volumes = [], more } = describeRemoved(all).removedVolumes ?? {};
    expect([volumes.length, more]).to.deep.equal([100, 30]);
    expect(volumes[0]).to.deep.equal({ name: `${ID}.130`, bytes: 0, until: AT });
  });

  it('go with their name and with what the node was to them', async () => {
    const metadata = { ...nodeRecord.metadata, uid: ID, createdAt: AT, updatedAt: AT };
    const volume = makeVolume(metadata);
    const ready = { id: ID, phase: 'Ready', reason: 'volume_materializing', message: '', since: AT } as const;
    const copies = [{ nodeId: LAB_NODE.id, state: 'syncing' } as const];
    const status: VolumeStatus = { ...ready, epoch: 3, lineage: [makeTerm(3)], primaryNode: 'node_2', copies };
    const report = () => {
      const entry = lab.cache.get(keys.volumeReport(LAB_TENANT, ID, LAB_NODE.id));
      return entry && value<VolumeReport>(entry);
    };
    await lab.put(keys.volume(LAB_TENANT, ID), volume);
    await lab.put(keys.volumeStatus(LAB_TENANT, ID), status);
    await lab.clock.pass(2_000);
    expect(report()).to.include({ state: 'ready', epoch: 3 });
    await lab.put(keys.volume(LAB_TENANT, ID), { ...volume, metadata: { ...metadata, deletedAt: AT } });
    await lab.clock.pass(2_000);
    expect(report()).to.include({ state: 'removed' });
    expect(removed).to.have.length(1);
    expect(removed[0]).to.deep.include({ volume: 'data' }).and.to.have.nested.include({ 'replication.epoch': 3 });
    expect(lab.files.has(`replication-${ID}.json`)).to.equal(false);
  });
});
