import { expect } from 'chai';

import type { AssignedVolume } from '../../../crds/volume/index.js';
import { until } from '../../../dev/testing/index.js';
import { arm } from '../../failpoint/index.js';
import { type VolumeDriver, VolumeFault } from '../volumes/index.js';
import { MemoryDriver } from './memory-driver.testing.js';
import { readSyncName } from './messages.js';
import { ASIDE, type LabNode, LabNodes, listCopies, pairUp, untilCopied, V } from './replication-lab.testing.js';

describe('copies of a volume that are of different histories', () => {
  const nodes = new LabNodes();
  let disarm = () => undefined as void;
  let a: LabNode;
  let b: LabNode;
  let onA: MemoryDriver;
  let onB: MemoryDriver;

  beforeEach(async () => {
    [onA, onB] = [new MemoryDriver(), new MemoryDriver()];
    [a, b] = [await nodes.start('node_a', onA), await nodes.start('node_b', onB)];
  });
  afterEach(async () => {
    disarm();
    await nodes.close();
  });

  it('are set aside with what was written after an attempt at it that failed', async () => {
    await pairUp(a, b);
    onA.write(V, 'lost');
    disarm = arm('volume.set_aside=error');
    await a.assign('replica', 2, [b.asPeer]).catch(() => undefined);
    onA.write(V, 'lost, and more');
    const replica = await a.assign('replica', 2, [b.asPeer]);
    const { divergent = [] } = await a.replication.describe(replica);
    const kept = divergent.map(({ name }) => onA.volumes.get(V)?.snapshots.get(name));
    expect(kept).to.deep.equal(['lost', 'lost, and more']);
  });

  for (const held of ['', 'written all the same']) {
    it(`begin with the second of two first primaries, when the other holds ${held || 'nothing'}`, async () => {
      await b.assign('primary', 1, []);
      onB.write(V, held);
      const replica = await b.assign('replica', 1, [a.asPeer]);
      await a.assign('primary', 1, [b.asPeer]);
      onA.write(V, 'one');
      await until('a copy', () => listCopies(onB).includes('one'));
      const { divergent = [], syncedEpoch } = await b.replication.describe(replica);
      expect(divergent.map(({ name }) => onB.volumes.get(V)?.snapshots.get(name))).to.deep.equal(held ? [held] : []);
      expect(syncedEpoch).to.equal(1);
    });
  }

  it('that were moved aside in the first epoch are known also after a crash in the middle', async () => {
    await b.close();
    const snapshot = () => Promise.reject(new VolumeFault('refused', 'a file is in use; close it'));
    b = await nodes.start('node_b', { driver: { ...onB.driver, snapshot } });
    await b.assign('primary', 1, []);
    onB.write(V, 'written all the same');
    disarm = arm('volume.set_aside=error');
    const outcome = await b.assign('replica', 1, [a.asPeer]).catch((thrown: Error) => thrown.message);
    expect(outcome).to.include('volume.set_aside');
    const replica = await b.assign('replica', 1, [a.asPeer]);
    const { divergent = [] } = await b.replication.describe(replica);
    expect(divergent.map(({ name }) => onB.volumes.get(V)?.snapshots.get(name))).to.deep.equal([
      'written all the same',
    ]);
  });

  it('that were set aside in the first epoch are not what a node is promoted to', async () => {
    await b.assign('primary', 1, []);
    onB.write(V, 'written all the same');
    const replica = await b.assign('replica', 1, [a.asPeer]);
    expect(await b.replication.describe(replica)).to.not.have.any.keys('syncedAt', 'syncedEpoch');
  });

  it('are set aside where the machine of the primary was set back, which has overtaken them since', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    const { key, files } = a;
    const kept = { files: new Map(files), volume: structuredClone(onA.volumes.get(V)!) };
    onA.write(V, 'one two');
    await untilCopied('one two', onB);
    await a.close();
    onA.volumes.set(V, kept.volume);
    // It goes on without the copy, and takes more snapshots than the copy has.
    a = await nodes.start('node_a', onA, { key, files: kept.files });
    const onC = new MemoryDriver();
    const c = await nodes.start('node_c', onC);
    await c.assign('replica', 1, [a.asPeer]);
    await a.assign('primary', 1, [c.asPeer]);
    for (const content of ['one, and another two', 'one, and another two and three']) {
      onA.write(V, content);
      await untilCopied(content, onC);
    }
    const places = [onB, onC].map(disk => readSyncName([...disk.volumes.get(V)!.snapshots.keys()].at(-1)!).sequence);
    expect(places[1]! >= places[0]!).to.equal(true);
    const { onB: copy } = await pairUp(a, b);
    await until('the copy', () => listCopies(onB).includes('one, and another two and three'));
    const { divergent = [] } = await b.replication.describe(copy);
    expect(divergent.map(({ name }) => onB.volumes.get(V)!.snapshots.get(name))).to.deep.equal(['one two']);
  });

  it('are replaced by a whole one when a difference is refused', async () => {
    const { driver } = onB;
    const receive: VolumeDriver['receive'] = (id, stream, incoming) => {
      if (incoming.parent === undefined) return driver.receive(id, stream, incoming);
      throw new VolumeFault('bad_stream', 'it is the difference to another parent; send it again');
    };
    b = await nodes.start('node_b', { driver: { ...driver, receive } });
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    onA.write(V, 'one two');
    await untilCopied('one two', onB);
  });

  describe('that have the same epoch, which was issued again after a restore', () => {
    const [lost, kept] = [{ generationId: 'aaaaaaaaaaaaaaaa' }, { generationId: 'bbbbbbbbbbbbbbbb' }];
    const listAside = async (node: LabNode, disk: MemoryDriver, volume: AssignedVolume) => {
      const { divergent = [] } = await node.replication.describe(volume);
      return divergent.map(({ name, epoch }) => [name, epoch, disk.volumes.get(V)?.snapshots.get(name)] as const);
    };
    let c: LabNode;
    let onC: MemoryDriver;

    /** B was promoted in the history that was lost, and C has its copy. Then A is, in an epoch of the same number. */
    beforeEach(async () => {
      onC = new MemoryDriver();
      c = await nodes.start('node_c', onC);
      const first = await nodes.start('node_d', new MemoryDriver());
      for (const copy of [a, b]) await copy.assign('replica', 1, [first.asPeer]);
      const primary = await first.assign('primary', 1, [a.asPeer, b.asPeer]);
      await until('copies', async () =>
        (await first.replication.describe(primary)).copies!.every(({ state }) => state === 'synced'),
      );
      await c.assign('replica', 2, [b.asPeer], lost);
      await b.assign('primary', 2, [c.asPeer], lost);
      onB.write(V, 'of the lost history');
      await untilCopied('of the lost history', onC);
      await b.assign('primary', 2, [], lost);
      await a.assign('primary', 2, [b.asPeer, c.asPeer], kept);
      onA.write(V, 'of the one that is kept');
    });

    it('a copy of the other one is set aside and named, and not overwritten', async () => {
      const copy = await c.assign('replica', 2, [a.asPeer], kept);
      const { syncedGenerationId } = await c.replication.describe(copy);
      expect(syncedGenerationId, 'it is of the other one until then').to.equal(lost.generationId);
      await until('a copy', () => listCopies(onC).includes('of the one that is kept'));
      await until('told', async () => (await listAside(c, onC, copy)).length > 0);
      const aside = await listAside(c, onC, copy);
      expect(aside.map(([name, ...rest]) => [name.slice(0, -9), ...rest])).to.deep.equal([
        ['s-0000000002-aaaaaaaaaaaaaaaa-0000000001', 2, 'of the lost history'],
      ]);
      onA.write(V, 'of the one that is kept, and more');
      await until('the next copy', () => listCopies(onC).includes('of the one that is kept, and more'));
      expect(await listAside(c, onC, copy)).to.deep.equal(aside);
      expect(await c.replication.describe(copy)).to.include({ syncedEpoch: 2, syncedGenerationId: kept.generationId });
    });

    it('a former primary of the other one becomes a copy, and what it holds is set aside', async () => {
      onB.write(V, 'of the lost history, and more');
      const copy = await b.assign('replica', 2, [a.asPeer], kept);
      const aside = [['divergent-2-aaaaaaaaaaaaaaaa', 2, 'of the lost history, and more']];
      expect(await listAside(b, onB, copy)).to.deep.equal(aside);
      await until('a copy', () => listCopies(onB).includes('of the one that is kept'));
      expect(await listAside(b, onB, copy)).to.deep.equal(aside);
    });

    it('a copy of the other one is not promoted in that epoch, nor is its primary one again', async () => {
      for (const node of [b, c]) {
        const outcome = await node.assign('primary', 2, [], kept).catch((thrown: Error) => thrown.message);
        expect(outcome).to.include('the same epoch in another history');
      }
    });
  });

  describe('of which the former primary comes back', () => {
    const isAside = async (node: LabNode, volume: AssignedVolume) =>
      ((await node.replication.describe(volume)).divergent ?? []).length > 0;

    beforeEach(async () => {
      await pairUp(a, b);
      onA.write(V, 'one');
      await untilCopied('one', onB);
      const [name] = onB.volumes.get(V)!.snapshots.keys();
      await until('it is recorded', () => [...a.files.values()].some(text => text.includes(`"snapshot":"${name}"`)));
    });

    it('it takes its volume back with every byte when the copy could not take over', async () => {
      onA.write(V, 'one, and more');
      const replica = await a.assign('replica', 2, [b.asPeer]);
      expect(await a.replication.describe(replica)).to.deep.include({ syncedEpoch: 1, role: 'replica' });
      expect(await isAside(a, replica)).to.equal(true);
      onA.write(V, 'must not count');
      const primary = await a.assign('primary', 3, [b.asPeer]);
      expect(onA.read(V)).to.equal('one, and more');
      expect(await isAside(a, primary)).to.equal(false);
      const copy = await b.assign('replica', 3, [a.asPeer]);
      await untilCopied('one, and more', onB);
      expect(await isAside(b, copy)).to.equal(false);
      await until('what was set aside is not kept twice', () => !onA.volumes.get(V)!.snapshots.has(ASIDE));
    });

    it('it takes its volume back also when the copy has everything', async () => {
      const replica = await a.assign('replica', 2, [b.asPeer]);
      const { syncedAt, divergent } = await a.replication.describe(replica);
      expect([typeof syncedAt, divergent]).to.deep.equal(['string', undefined]);
      await a.assign('primary', 3, [b.asPeer]);
      expect(onA.read(V)).to.equal('one');
    });

    it('it is not taken for the freshest once a copy of the new primary has arrived', async () => {
      onA.write(V, 'one, and more');
      const replica = await a.assign('replica', 2, [b.asPeer]);
      await b.assign('primary', 2, [a.asPeer]);
      onB.write(V, 'one, and new');
      await until('a copy', async () => (await a.replication.describe(replica)).syncedEpoch === 2);
      const primary = await a.assign('primary', 3, [b.asPeer]);
      expect(onA.read(V)).to.match(/^one(, and new)?$/);
      expect(await isAside(a, primary)).to.equal(true);
    });

    it('it keeps its files themselves where no snapshot of them can be taken, also after a crash', async () => {
      const snapshot: VolumeDriver['snapshot'] = (id, name) => {
        if (!name.startsWith('divergent')) return onA.driver.snapshot(id, name);
        return Promise.reject(new VolumeFault('refused', 'there are subvolumes on it; replace them by plain folders'));
      };
      const { key, files } = a;
      await a.close();
      a = await nodes.start('node_a', { driver: { ...onA.driver, snapshot } }, { key, files });
      onA.write(V, 'one, and more');
      disarm = arm('volume.set_aside=error');
      await a.assign('replica', 2, [b.asPeer]).catch(() => undefined);
      const replica = await a.assign('replica', 2, [b.asPeer]);
      const { divergent, syncedAt } = await a.replication.describe(replica);
      const moved = `${ASIDE}-moved`;
      expect(divergent?.map(({ name }) => name)).to.deep.equal([moved]);
      expect(onA.volumes.get(V)!.snapshots.get(moved)).to.equal('one, and more');
      expect(syncedAt, 'it could not be promoted with everything').to.equal(undefined);
      await b.assign('primary', 2, [a.asPeer]);
      onB.write(V, 'one, and new');
      await until('a copy on A', () => listCopies(onA).includes('one, and new'));
    });

    it('one that has missed an epoch sets nothing aside that the later primary has', async () => {
      const onC = new MemoryDriver();
      const c = await nodes.start('node_c', onC);
      await c.assign('replica', 2, [b.asPeer]);
      await b.assign('primary', 2, [c.asPeer]);
      onB.write(V, 'one two');
      await untilCopied('one two', onC);
      await c.assign('primary', 3, [a.asPeer]);
      onC.write(V, 'one two three');
      const replica = await a.assign('replica', 3, [c.asPeer]);
      await until('a copy on A', async () => (await a.replication.describe(replica)).syncedEpoch === 3);
      expect(await isAside(a, replica)).to.equal(false);
    });
  });

  describe('with two copies, of which the staler is promoted', () => {
    let c: LabNode;
    let onC: MemoryDriver;
    const isKept = (disk: MemoryDriver, seen: { divergent?: readonly { name: string }[] }, content: string) =>
      seen.divergent?.some(({ name }) => disk.volumes.get(V)?.snapshots.get(name) === content);
    /** B has 'one', A and C have more. */
    beforeEach(async () => {
      onC = new MemoryDriver();
      c = await nodes.start('node_c', onC);
      await pairUp(a, b);
      onA.write(V, 'one');
      await untilCopied('one', onB);
      await c.assign('replica', 1, [a.asPeer]);
      await a.assign('primary', 1, [c.asPeer]);
      onA.write(V, 'one two');
      await untilCopied('one two', onC);
      const [name] = onC.volumes.get(V)!.snapshots.keys();
      await until('it is recorded', () => [...a.files.values()].some(text => text.includes(`"snapshot":"${name}"`)));
    });

    it('what the fresher had is set aside, on it and on the former primary', async () => {
      const replicas = [await a.assign('replica', 2, [b.asPeer]), await c.assign('replica', 2, [b.asPeer])] as const;
      await b.assign('primary', 2, [a.asPeer, c.asPeer]);
      onB.write(V, 'one three');
      await until('copies', () => [onA, onC].every(disk => listCopies(disk).includes('one three')));
      await until('told', async () => isKept(onC, await c.replication.describe(replicas[1]), 'one two'));
      await until('told', async () => isKept(onA, await a.replication.describe(replicas[0]), 'one two'));
      onB.write(V, 'one three four');
      await until('copies', () => [onA, onC].every(disk => listCopies(disk).includes('one three four')));
      const primary = await c.assign('primary', 3, [b.asPeer]);
      await b.assign('replica', 3, [c.asPeer]);
      onC.write(V, 'five');
      await until('a copy on B', () => listCopies(onB).includes('five'));
      expect(isKept(onC, await c.replication.describe(primary), 'one two')).to.equal(true);
    });

    it('a copy that is older than the promoted one has nothing to set aside', async () => {
      const replica = await b.assign('replica', 2, [c.asPeer]);
      await c.assign('primary', 2, [b.asPeer]);
      onC.write(V, 'one two three');
      await untilCopied('one two three', onB);
      expect(await b.replication.describe(replica)).to.not.have.property('divergent');
    });
  });
});
