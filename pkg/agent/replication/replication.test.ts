import { connect } from 'node:net';

import { expect } from 'chai';
import sinon from 'sinon';

import { until } from '../../../dev/testing/index.js';
import { sleep, systemClock } from '../../clock/index.js';
import { arm } from '../../failpoint/index.js';
import { Bandwidth } from './bandwidth.js';
import { WHOLE_MIN } from './copies.js';
import { MemoryDriver } from './memory-driver.testing.js';
import {
  ASIDE,
  type LabNode,
  type LabNodeOptions,
  LabNodes,
  listCopies,
  pairUp,
  untilCopied,
  V,
} from './replication-lab.testing.js';
import type { PeerConnection } from './peers.js';
import { TlsPeers } from './tls-peers.js';
import { PeerWire } from './wire.js';

describe('replication of a volume', () => {
  const nodes = new LabNodes();
  let disarm = () => undefined as void;
  let a: LabNode;
  let b: LabNode;
  let onA: MemoryDriver;
  let onB: MemoryDriver;
  const begin = async (options: LabNodeOptions = {}) => {
    [onA, onB] = [new MemoryDriver(), new MemoryDriver()];
    [a, b] = [await nodes.start('node_a', onA, options), await nodes.start('node_b', onB, options)];
  };

  beforeEach(() => begin());
  afterEach(async () => {
    disarm();
    await nodes.close();
  });

  it('sends everything once and then what differs, and both keep the newest that they have in common', async () => {
    const volumes = await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    onA.write(V, 'one two');
    await untilCopied('one two', onB);
    expect(onB.steps.filter(step => step.startsWith('receive')).at(-1)).to.match(
      /^receive s-0{9}1-0{15}1-\d{10}-[0-9a-f]{8} after s-/,
    );
    await until('one snapshot', () => listCopies(onA).length === 1);
    const describe = async () => (await a.replication.describe(volumes.onA)).copies?.[0];
    await until('rest', async () => (await describe())?.lagBytes === 0);
    const copy = await describe();
    expect(copy).to.include({ nodeId: 'node_b', state: 'synced', lagBytes: 0 }).and.to.have.property('syncedAt');
    const seen = await b.replication.describe(volumes.onB);
    expect(seen).to.deep.include({ epoch: 1, role: 'replica', syncedEpoch: 1, syncedAt: copy?.syncedAt });
  });

  it('shows the proof of its epoch with all it says, also when an earlier epoch is assigned', async () => {
    await b.assign('replica', 1, [a.asPeer]);
    expect(await b.replication.recall(V), 'a server of an earlier release').not.to.have.property('epochProof');
    for (const [epoch, epochProof] of [
      [1, 'old key'],
      [1, 'one'],
      [2, 'two'],
    ] as const) {
      const assigned = await b.assign('replica', epoch, [a.asPeer], { epochProof });
      expect(await b.replication.describe(assigned)).to.include({ epoch, epochProof });
    }
    const refused = await b.assign('replica', 1, [a.asPeer], { epochProof: 'one' }).catch((thrown: unknown) => thrown);
    expect(String(refused)).to.contain('an earlier epoch than this copy has seen');
    expect(await b.replication.recall(V)).to.include({ epoch: 2, epochProof: 'two' });
  });

  it('knows nothing of a copy any more that was removed and is asked for again on the same node', async () => {
    const volumes = await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    const describe = async () => (await a.replication.describe(volumes.onA)).copies?.[0];
    await until('rest', async () => (await describe())?.lagBytes === 0);
    await a.assign('primary', 1, []);
    b.replication.assign(new Map());
    await b.replication.remove(V);
    onB.volumes.delete(V);
    await until('what is known of it to be gone', () => ![...a.files.values()].some(file => file.includes('node_b')));
    const again = await a.assign('primary', 1, [b.asPeer]);
    const copy = (await a.replication.describe(again)).copies?.[0];
    expect(copy, 'nobody has asked it yet')
      .to.include({ state: 'syncing' })
      .and.not.to.have.any.keys('lagBytes', 'syncedAt');
    await b.assign('replica', 1, [a.asPeer]);
    await untilCopied('one', onB);
  });

  it('knows nothing of a copy any more that was removed while its agent was away', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    const { key, files } = a;
    await a.close();
    onA.write(V, 'two');
    b.replication.assign(new Map());
    await b.replication.remove(V);
    onB.volumes.delete(V);
    a = await nodes.start('node_a', onA, { key, files });
    await a.assign('primary', 1, []);
    await until('what is known of it to be gone', () => ![...files.values()].some(file => file.includes('node_b')));
    const again = await a.assign('primary', 1, [b.asPeer]);
    expect((await a.replication.describe(again)).copies?.[0]).to.include({ state: 'syncing' });
    await b.assign('replica', 1, [a.asPeer]);
    await untilCopied('two', onB);
  });

  it('calls no copy even while something writes on', async () => {
    let writes = 6;
    class Written extends MemoryDriver {
      override get driver() {
        const driver = super.driver;
        const snapshot = async (id: string, name: string) => {
          await driver.snapshot(id, name);
          if (writes-- > 0) this.write(id, `${this.read(id)}.`);
        };
        return { ...driver, snapshot };
      }
    }
    [onA, onB] = [new Written(), new MemoryDriver()];
    [a, b] = [await nodes.start('node_a', onA), await nodes.start('node_b', onB)];
    const volumes = await pairUp(a, b);
    onA.write(V, 'one');
    const lags = new Set<number | undefined>();
    await until('every write to be copied', async () => {
      const [copy] = (await a.replication.describe(volumes.onA)).copies ?? [];
      if (writes > 0 && copy?.state === 'synced') lags.add(copy.lagBytes);
      return writes <= 0 && listCopies(onB).includes(onA.read(V)) && copy?.lagBytes === 0;
    });
    expect([...lags])
      .to.include(undefined)
      .and.not.to.include(0);
  });

  it('asks the bandwidth of its node for every byte before it is sent', async () => {
    const take = sinon.spy(Bandwidth.prototype, 'take');
    try {
      await begin({ bandwidth: 2 ** 20 });
      await pairUp(a, b);
      const content = 'x'.repeat(300_000);
      onA.write(V, content);
      await untilCopied(content, onB);
      const taken = take.args.map(([count]) => count);
      expect(taken.reduce((sum, count) => sum + count, 0)).to.be.at.least(content.length);
      expect(Math.max(...taken)).to.be.at.most(2 ** 20 / 10);
    } finally {
      take.restore();
    }
  });

  it('sends nothing to a node that keeps volumes with another driver, and says so', async () => {
    class Folders extends MemoryDriver {
      override get driver() {
        return { ...super.driver, name: 'directory' as const };
      }
    }
    onB = new Folders();
    b = await nodes.start('node_b', onB);
    const volumes = await pairUp(a, b);
    onA.write(V, 'one');
    const describe = async () => (await a.replication.describe(volumes.onA)).copies?.[0];
    await until('the reason', async () => (await describe())?.message?.includes('--volume-driver'));
    expect(await describe()).to.include({ state: 'syncing' });
    expect(listCopies(onB)).to.deep.equal([]);
  });

  it('writes nothing, and connects to nobody, while nothing changes', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    await until('rest', () => listCopies(onA).length === 1);
    const asked = onA.asked;
    await until('some rounds', () => onA.asked > asked + 5);
    const [steps, files] = [onA.steps.length + onB.steps.length, JSON.stringify([...a.files, ...b.files])];
    const rounds = onA.asked;
    await until('many rounds', () => onA.asked > rounds + 20);
    expect(onA.steps.length + onB.steps.length).to.equal(steps);
    expect(JSON.stringify([...a.files, ...b.files])).to.equal(files);
    expect(b.peers.connections).to.equal(0);
  });

  it('notices what a workload has written and nobody has flushed', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    await until('rest', () => listCopies(onA).length === 1);
    const asked = onA.asked;
    await until('some rounds', () => onA.asked > asked + 5);
    onA.writeUnflushed(V, 'one two');
    await untilCopied('one two', onB);
  });

  it('shows ever later moments, also when the clock of the primary is set back', async () => {
    await nodes.close();
    let backMs = 0;
    await begin({ clock: { ...systemClock, now: () => systemClock.now() - backMs } });
    const volumes = await pairUp(a, b);
    const show = async () => (await b.replication.describe(volumes.onB)).syncedAt;
    onA.write(V, 'one');
    const before = await until('a copy', async () => listCopies(onB).includes('one') && (await show()));
    backMs = 3_600_000;
    onA.write(V, 'one two');
    await untilCopied('one two', onB);
    expect(Date.parse((await show())!)).to.be.greaterThan(Date.parse(before));
  });

  it('goes on where it was after a restart of either end', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    const received = () => onB.steps.filter(step => step.startsWith('receive'));
    const { key: keyA, files: filesA } = a;
    const { key: keyB, files: filesB } = b;
    await nodes.close();
    a = await nodes.start('node_a', onA, { key: keyA, files: filesA });
    b = await nodes.start('node_b', onB, { key: keyB, files: filesB });
    const volumes = await pairUp(a, b);
    await until('it is known', async () => (await a.replication.describe(volumes.onA)).copies?.[0]?.state === 'synced');
    const before = received().length;
    onA.write(V, 'one more');
    await untilCopied('one more', onB);
    expect(
      received()
        .slice(before)
        .every(step => step.includes(' after ')),
    ).to.equal(true);
  });

  for (const point of ['volume.snapshot_taken', 'volume.sending', 'volume.synced'] as const) {
    it(`is begun again by the next round when it failed at ${point}`, async () => {
      disarm = arm(`${point}=error`);
      await pairUp(a, b);
      onA.write(V, 'x'.repeat(100_000));
      await untilCopied('x'.repeat(100_000), onB);
      onA.write(V, 'x'.repeat(100_001));
      await untilCopied('x'.repeat(100_001), onB);
    });
  }

  it('brings several copies up to date, of which one is away', async () => {
    const onC = new MemoryDriver();
    const c = await nodes.start('node_c', onC);
    await b.assign('replica', 1, [a.asPeer]);
    await c.assign('replica', 1, [a.asPeer]);
    const gone = { nodeId: 'node_d', publicKey: 'none', address: '127.0.0.1:1' };
    const silent = { nodeId: 'node_e', publicKey: 'none' };
    const volume = await a.assign('primary', 1, [b.asPeer, gone, c.asPeer, silent]);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    await untilCopied('one', onC);
    const seen = await until('the failure is told', async () => {
      const { copies } = await a.replication.describe(volume);
      return (
        copies?.[1]?.message !== undefined && copies[0]?.state === 'synced' && copies[2]?.state === 'synced' && copies
      );
    });
    expect(seen[1])
      .to.deep.include({ state: 'syncing' })
      .and.have.property('message')
      .that.matches(/cannot be reached; /);
    expect(seen[3]?.message).to.match(/takes no copies; /);
  });

  it('says how long everything took to send, where that was much', async () => {
    await a.assign('primary', 1, []);
    const much = 'x'.repeat(WHOLE_MIN);
    onA.write(V, much);
    const { onA: volume } = await pairUp(a, b);
    await untilCopied(much, onB);
    const whole = async () => (await a.replication.describe(volume)).copies?.[0]?.lastWhole;
    await until('it is measured', async () => (await whole()) !== undefined);
    expect((await whole())?.bytes).to.be.at.least(WHOLE_MIN);
    expect((await whole())?.seconds).to.be.at.least(1);
  });

  it('is promoted with a higher epoch, and the former primary sets its own bytes aside and receives', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    const toB = b.asPeer;
    const { key, files } = a;
    await a.close();
    onA.write(V, 'one, and lost');
    expect(await b.replication.explainUnusable(await b.assign('replica', 1, [a.asPeer]))).to.match(/copy/);
    a = await nodes.start('node_a', onA, { key, files });
    const primary = await b.assign('primary', 2, [a.asPeer]);
    expect(await b.replication.explainUnusable(primary)).to.equal(undefined);
    expect(onB.read(V)).to.equal('one');
    const replica = await a.assign('replica', 2, [toB]);
    const { divergent } = await a.replication.describe(replica);
    expect(divergent).to.have.length(1);
    expect(divergent?.[0]).to.include({ name: ASIDE, epoch: 1 });
    onB.write(V, 'one, and new');
    await until('a copy on A', () => listCopies(onA).includes('one, and new'));
    expect(onA.volumes.get(V)?.snapshots.get(ASIDE)).to.equal('one, and lost');
    await onA.driver.dropSnapshot(V, ASIDE);
    expect(await a.replication.describe(replica)).to.not.have.property('divergent');
    onB.write(V, 'one, and newer');
    await until('another copy on A', () => listCopies(onA).includes('one, and newer'));
    await a.assign('replica', 2, [toB], { discard: divergent! });
    expect([...a.files.values()].join(), 'forgotten by order').to.not.include(ASIDE);
  });

  it('knows what was set aside on a disk that was away for some copies', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    onA.write(V, 'one, and lost');
    await b.assign('primary', 2, [a.asPeer]);
    await a.assign('replica', 2, [b.asPeer]);
    onB.write(V, 'two');
    await until('a copy on A', () => listCopies(onA).includes('two'));

    const disk = onA.volumes.get(V)!;
    onA.volumes.delete(V);
    const replica = await a.assign('replica', 2, [b.asPeer]);
    for (const content of ['three', 'four']) {
      onB.write(V, content);
      await until('a copy beside the disk', () => listCopies(onA).includes(content));
    }
    onA.volumes.set(V, disk);
    onB.write(V, 'five');
    await until('a copy on the disk', () => listCopies(onA).includes('five'));
    expect((await a.replication.describe(replica)).divergent?.map(({ name }) => name)).to.deep.equal([ASIDE]);
    expect(disk.snapshots.get(ASIDE)).to.equal('one, and lost');
  });

  it('loses what was set aside when that is ordered, and nothing else of its name', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    onA.write(V, 'one, and lost');
    await b.assign('primary', 2, [a.asPeer]);
    const { divergent } = await a.replication.describe(await a.assign('replica', 2, []));
    const { name, at } = divergent![0]!;
    const holds = () => onA.volumes.get(V)?.snapshots.has(name);
    await a.assign('replica', 2, [], { discard: [{ name, at }] });
    expect(holds(), 'the newest copy here').to.equal(true);
    const replica = await a.assign('replica', 2, [b.asPeer]);
    await until('a copy of B on A', async () => (await a.replication.describe(replica)).syncedEpoch === 2);
    await a.assign('replica', 2, [b.asPeer], { discard: [{ name, at: '2001-01-01T00:00:00Z' }] });
    expect(holds(), 'another one of that name').to.equal(true);
    const order = {
      discard: [
        { name, at },
        { name: 'never-there', at },
      ],
    };
    const ordered = await a.assign('replica', 2, [b.asPeer], order);
    expect(holds()).to.equal(false);
    expect(await a.replication.describe(ordered)).to.not.have.property('divergent');
    await a.assign('replica', 2, [b.asPeer], order);
    expect(listCopies(onA)).to.include('one');
    await a.assign('primary', 3, []);
    expect(await a.replication.recall(V), 'promoted before another copy came').to.not.have.property('divergent');
  });

  it('serves on while what is ordered to go cannot be removed', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    onA.write(V, 'one, and lost');
    await b.assign('primary', 2, [a.asPeer]);
    const { divergent } = await a.replication.describe(await a.assign('replica', 2, [b.asPeer]));
    const { name, at } = divergent![0]!;
    const holds = () => onA.volumes.get(V)?.snapshots.has(name);
    const replica = await a.assign('replica', 2, [b.asPeer]);
    await until('a copy of B on A', async () => (await a.replication.describe(replica)).syncedEpoch === 2);
    const primary = await a.assign('primary', 3, []);
    onA.stuck.add(name);
    const ordered = await a.assign('primary', 3, [], { discard: [{ name, at }] });
    expect(await a.replication.settle(ordered)).to.deep.include({ epoch: 3, role: 'primary', divergent });
    expect(await a.replication.explainUnusable(primary)).to.equal(undefined);
    onA.stuck.clear();
    const full = sinon.stub(a.files, 'set').throws(new Error('ENOSPC'));
    expect(await a.replication.settle(ordered), 'on a full state folder').to.include({ epoch: 3, role: 'primary' });
    full.restore();
    await a.replication.settle(ordered);
    expect(holds(), 'the order counts until it is carried out').to.equal(false);
    expect(await a.replication.recall(V), 'also when it fails later').to.not.have.property('divergent');
  });

  it('is not used while it is held, on the node that has it', async () => {
    const volume = await a.assign('primary', 1, [], { isHeld: true });
    expect(await a.replication.explainUnusable(volume)).to.match(/behind what another node has/);
    expect(await a.replication.explainUnusable(await a.assign('primary', 1, []))).to.equal(undefined);
  });

  it('has nothing to set aside where the copy has everything', async () => {
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    const [name] = onB.volumes.get(V)!.snapshots.keys();
    await until('it is recorded', () => [...a.files.values()].some(text => text.includes(`"snapshot":"${name}"`)));
    await b.assign('primary', 2, [a.asPeer]);
    const replica = await a.assign('replica', 2, [b.asPeer]);
    expect(await a.replication.describe(replica)).to.not.have.property('divergent');
    await until('one snapshot', () => listCopies(onA).length === 1 && listCopies(onA)[0] === 'one');
  });

  for (const [point, role] of [
    ['volume.copy_promoted', 'primary'],
    ['volume.set_aside', 'replica'],
  ] as const) {
    it(`takes its new part again when it failed at ${point}`, async () => {
      await pairUp(a, b);
      onA.write(V, 'one');
      await untilCopied('one', onB);
      if (role === 'replica') await b.assign('primary', 2, [a.asPeer]);
      onA.write(V, 'one, and lost');
      const [node, other] = role === 'primary' ? [b, a] : [a, b];
      disarm = arm(`${point}=error`);
      const outcome = await node.assign(role, 2, [other.asPeer]).catch((thrown: Error) => thrown.message);
      expect(outcome).to.include(point);
      await node.assign(role, 2, [other.asPeer]);
      if (role === 'primary') expect(onB.read(V)).to.match(/^one/);
      else expect(onA.volumes.get(V)?.snapshots.get(ASIDE)).to.equal('one, and lost');
    });
  }

  it('does not dial on when another agent answers than the one that was named', async () => {
    const other = await nodes.start('node_x', new MemoryDriver());
    await b.assign('replica', 1, [a.asPeer]);
    const volume = await a.assign('primary', 1, [{ ...b.asPeer, publicKey: other.publicKey }]);
    onA.write(V, 'one');
    const failed = await until('the failure', async () => (await a.replication.describe(volume)).copies?.[0]?.message);
    expect(failed).to.match(/does not have the key of that node/);
    expect(listCopies(onB)).to.deep.equal([]);
  });

  it('goes on beside any number of strangers, who get no more than a few connections', async () => {
    const strangers = Array.from({ length: 150 }, () =>
      connect(b.peers.port, '127.0.0.1').on('error', () => undefined),
    );
    await until('they have come', () => strangers.every(({ readyState }) => readyState !== 'opening'));
    await pairUp(a, b);
    onA.write(V, 'one');
    await untilCopied('one', onB);
    await until('most are gone', () => b.peers.connections < 40);
    for (const stranger of strangers) stranger.destroy();
  });

  it('gives up a peer that is there and comes no further', async () => {
    await nodes.close();
    let aheadMs = 0;
    await begin({ stallMs: 60_000, clock: { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs } });
    const sick = await TlsPeers.open({ key: b.key, clock: systemClock, listen: { host: '127.0.0.1', port: 0 } });
    const end = new AbortController();
    const handle = async ({ stream, admit }: PeerConnection) => {
      admit();
      const wire = new PeerWire(stream, { clock: systemClock, stallMs: 60_000 });
      await wire.readLine();
      await wire.writeLine({ snapshots: [] });
      for (; !end.signal.aborted; await sleep(systemClock, 30, end.signal)) {
        await wire.writeLine({ arrived: 0 });
        aheadMs += 60_000;
      }
    };
    void sick.listen(handle, end.signal);
    const volume = await a.assign('primary', 1, [{ ...b.asPeer, address: sick.address! }]);
    onA.write(V, 'one');
    await until('the failure', async () =>
      /comes no further/.test((await a.replication.describe(volume)).copies?.[0]?.message ?? ''),
    );
    end.abort();
    await sick.close();
  });

  it('gives up a peer that says nothing, and says so', async () => {
    await nodes.close();
    await begin({ stallMs: 200 });
    const mute = await TlsPeers.open({ key: b.key, clock: systemClock, listen: { host: '127.0.0.1', port: 0 } });
    const end = new AbortController();
    void mute.listen(() => new Promise(() => undefined), end.signal);
    const volume = await a.assign('primary', 1, [{ ...b.asPeer, address: mute.address! }]);
    onA.write(V, 'one');
    const failed = await until('the failure', async () => (await a.replication.describe(volume)).copies?.[0]?.message);
    expect(failed).to.match(/the other node sent nothing/);
    end.abort();
    await mute.close();
  });
});
