import { expect } from 'chai';

import type { AssignedVolume } from '../../../crds/volume/index.js';
import { until } from '../../../dev/testing/index.js';
import { arm } from '../../failpoint/index.js';
import { MemoryDriver } from './memory-driver.testing.js';
import { type LabNode, LabNodes, pairUp, untilCopied, V } from './replication-lab.testing.js';

describe('a volume that is to move', () => {
  const nodes = new LabNodes();
  let disarm = () => undefined as void;
  let writer: string | undefined;
  let looked = 0;
  let a: LabNode;
  let b: LabNode;
  let onA: MemoryDriver;
  let onB: MemoryDriver;
  let replica: AssignedVolume;

  beforeEach(async () => {
    [onA, onB, writer] = [new MemoryDriver(), new MemoryDriver(), undefined];
    const findWriter = async () => {
      looked++;
      return writer;
    };
    [a, b] = [await nodes.start('node_a', onA, { findWriter }), await nodes.start('node_b', onB)];
    ({ onB: replica } = await pairUp(a, b));
    onA.write(V, 'one');
    await untilCopied('one', onB);
  });
  afterEach(async () => {
    disarm();
    await nodes.close();
  });

  const finish = (epoch = 2) => a.assign('primary', 1, [b.asPeer], { finalFor: epoch });
  const finalOn = async (node: LabNode, volume: AssignedVolume) => (await node.replication.describe(volume)).final;
  /** Both ends tell of the same last snapshot. */
  const settled = (primary: AssignedVolume, epoch = 2) =>
    until('both have the last snapshot', async () => {
      const [taken, arrived] = [await finalOn(a, primary), await finalOn(b, replica)];
      const isSame = taken !== undefined && taken.snapshot === arrived?.snapshot && taken.epoch === arrived.epoch;
      return isSame && taken.epoch === epoch && taken;
    });

  it('has a last snapshot once nothing writes any more, and moves without losing a byte', async () => {
    writer = 'the container web';
    const primary = await finish();
    expect(await a.replication.explainUnusable(primary)).to.match(/moves to another node/);
    onA.write(V, 'one, and the last');
    const before = looked;
    await until('some rounds', () => looked > before + 1);
    expect(await finalOn(a, primary)).to.equal(undefined);
    writer = undefined;
    const { snapshot } = await settled(primary);
    expect(onB.volumes.get(V)!.snapshots.get(snapshot)).to.equal('one, and the last');

    const moved = await b.assign('primary', 2, [a.asPeer]);
    const former = await a.assign('replica', 2, [b.asPeer]);
    expect(onB.read(V)).to.equal('one, and the last');
    expect(await b.replication.explainUnusable(moved)).to.equal(undefined);
    await until('it is a copy', async () => (await a.replication.describe(former)).syncedEpoch === 2);
    expect(await a.replication.describe(former)).to.not.have.any.keys('divergent', 'final');
  });

  it('that stays after all is used again, and what is written then is in the next last snapshot', async () => {
    const first = await settled(await finish());
    const back = await a.assign('primary', 1, [b.asPeer]);
    expect(await a.replication.explainUnusable(back)).to.equal(undefined);
    expect(await finalOn(a, back)).to.equal(undefined);
    onA.write(V, 'one, and more');
    writer = 'the container web';
    const again = await finish();
    expect(await finalOn(a, again), 'it may be written to').to.equal(undefined);
    writer = undefined;
    const second = await settled(again);
    expect(second.snapshot).to.not.equal(first.snapshot);
    expect(onB.volumes.get(V)!.snapshots.get(second.snapshot)).to.equal('one, and more');
  });

  it('has a last snapshot also when taking it failed in the middle, and after a restart of the primary', async () => {
    disarm = arm('volume.final_taken=error');
    const { snapshot } = await settled(await finish());
    const { key, files } = a;
    await a.close();
    a = await nodes.start('node_a', onA, { key, files, findWriter: async () => undefined });
    replica = await b.assign('replica', 1, [a.asPeer]);
    const { snapshot: after } = await settled(await finish());
    expect(after, 'nothing has changed').to.equal(snapshot);
  });
});
