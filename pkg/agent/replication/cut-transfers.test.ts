import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';

import { expect } from 'chai';

import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { until } from '../../../dev/testing/index.js';
import { type Clock, seededRandom, systemClock } from '../../clock/index.js';
import { StreamChecksum } from '../volumes/index.js';
import { RESUMABLE_BYTES, RESUMABLE_MS } from './incoming-transfer.js';
import { CutLink } from './cut-link.testing.js';
import { makeSyncName, MemoryDriver } from './memory-driver.testing.js';
import type { BegunTransfer } from './messages.js';
import { type LabNode, LabNodes, listCopies, untilCopied, V } from './replication-lab.testing.js';
import { TlsPeers } from './tls-peers.js';
import { PeerWire } from './wire.js';

const AT = '2026-01-01T00:00:00.000Z';
const header = { snapshot: makeSyncName(3, 1), at: AT };
const content = 'x'.repeat(4 * RESUMABLE_BYTES);
const stream = Buffer.from(JSON.stringify({ more: content }));
const sum = (bytes: Buffer) => new StreamChecksum().add(bytes).toHex();

describe('what has arrived of a transfer that was cut', () => {
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
  const nodes = new LabNodes();
  const random = seededRandom(7);
  /** What is to happen when what was cut is kept no longer. */
  let expire: (() => void)[];
  let disk: MemoryDriver;
  let node: LabNode;
  let primary: TlsPeers;
  const clock: Clock = {
    ...systemClock,
    after: (ms, fire) => {
      if (ms === RESUMABLE_MS) expire.push(fire);
      return ms === RESUMABLE_MS ? () => undefined : systemClock.after(ms, fire);
    },
  };
  const assign = (epoch = 3) => node.assign('replica', epoch, [{ nodeId: 'node_a', publicKey }]);
  const open = async () => {
    node = await nodes.start('node_b', disk, { clock });
    await assign();
  };

  beforeEach(async () => {
    expire = [];
    disk = new MemoryDriver();
    primary = await TlsPeers.open({ key, clock: systemClock });
    await open();
  });
  afterEach(async () => {
    await primary.close();
    await nodes.close();
  });

  const dial = async (epoch = 3) => {
    const address = node.peers.address!;
    const socket = await primary.connect({ address, publicKey: node.publicKey }, new AbortController().signal);
    const wire = new PeerWire(socket, { clock: systemClock, stallMs: 60_000 });
    await wire.writeLine({ volume: V, ...makeTerm(epoch) });
    const { begun } = JSON.parse(await wire.readLine()) as { begun?: BegunTransfer };
    return { wire, socket, begun };
  };
  /** Sends what lies between two places, and whole frames only. */
  const sendPart = async (wire: PeerWire, from: number, to: number) => {
    for (let at = from; at < to; ) {
      const next = Math.min(to, at + 1 + Math.floor(random.next() * 300_000));
      await wire.writeFrame([stream.subarray(at, next)]);
      at = next;
    }
  };
  const cutAfter = async (bytes: number, announced: object = header) => {
    const { wire, socket } = await dial();
    const kept = expire.length;
    await wire.writeLine(announced);
    await sendPart(wire, 0, bytes);
    socket.end();
    await once(socket, 'close');
    if (bytes >= RESUMABLE_BYTES) await until('it is kept', () => expire.length > kept);
  };
  const readBegun = async (epoch = 3) => {
    const { wire, begun } = await dial(epoch);
    wire.close();
    return begun;
  };
  const finish = async (wire: PeerWire, checksum = sum(stream)) => {
    await wire.writeEnd(checksum);
    return JSON.parse(await wire.readLine()) as object;
  };
  const isStored = () => listCopies(disk).length === 1 && listCopies(disk)[0] === content;

  it('is told to the primary with its checksum, and goes on from there, wherever and however often it is cut', async () => {
    let continued = 0;
    for (let round = 0; round < 8; round++) {
      let { wire, socket } = await dial();
      let from = 0;
      await wire.writeLine(header);
      for (const share of [0.2 + random.next() * 0.3, 0.5 + random.next() * 0.3, 0.8 + random.next() * 0.2]) {
        await sendPart(wire, from, Math.floor(stream.length * share));
        if (random.next() < 0.7) socket.end();
        else wire.close();
        const next = await dial();
        const { begun } = next;
        from = begun?.arrived ?? 0;
        continued += begun ? 1 : 0;
        if (begun) expect(begun).to.deep.equal({ ...header, arrived: from, checksum: sum(stream.subarray(0, from)) });
        [wire, socket] = [next.wire, next.socket];
        await wire.writeLine({ ...header, ...(begun && { from }) });
      }
      await sendPart(wire, from, stream.length);
      expect(await finish(wire)).to.deep.equal({ done: header.snapshot });
      expect(isStored()).to.equal(true);
      await node.replication.remove(V);
      disk.volumes.delete(V);
      await assign();
    }
    expect(continued).to.be.at.least(8);
  });

  it('goes on also where only the end was missing, and is nothing before', async () => {
    await cutAfter(stream.length);
    expect(disk.volumes.get(V)?.snapshots.size).to.equal(0);
    const { wire, begun } = await dial();
    expect(begun?.arrived).to.equal(stream.length);
    await wire.writeLine({ ...header, from: stream.length });
    expect(await finish(wire)).to.deep.equal({ done: header.snapshot });
    expect(isStored()).to.equal(true);
  });

  it('is not told of where it is little', async () => {
    await cutAfter(RESUMABLE_BYTES / 2);
    expect(await readBegun()).to.equal(undefined);
  });

  it('is let go of when its sender finds that it is not what it sends, and everything is taken then', async () => {
    await cutAfter(2 * RESUMABLE_BYTES);
    const { wire } = await dial();
    const { arrived } = (await readBegun())!; // a second connection in the place of the first
    const { wire: second } = await dial();
    wire.close();
    await second.writeLine({ ...header, from: arrived });
    expect(await finish(second, 'f'.repeat(24))).to.have.property('refused');
    expect(listCopies(disk)).to.deep.equal([]);
    const { wire: third, begun } = await dial();
    expect(begun).to.equal(undefined);
    await third.writeLine(header);
    await sendPart(third, 0, stream.length);
    expect(await finish(third)).to.deep.equal({ done: header.snapshot });
    expect(isStored()).to.equal(true);
  });

  const others: readonly (readonly [what: string, announced: object])[] = [
    ['another place', { from: RESUMABLE_BYTES }],
    ['another moment', { at: '2026-01-02T00:00:00.000Z' }],
    ['another snapshot', { snapshot: makeSyncName(3, 2) }],
    ['a parent', { parent: makeSyncName(3, 2) }],
  ];
  for (const [what, change] of others) {
    it(`does not go on with ${what}`, async () => {
      await cutAfter(2 * RESUMABLE_BYTES);
      const { wire, begun } = await dial();
      await wire.writeLine({ ...header, from: begun?.arrived, ...change });
      expect(JSON.parse(await wire.readLine())).to.deep.equal({ refused: 'failed' });
      wire.close();
      expect(listCopies(disk)).to.deep.equal([]);
    });
  }

  it('is let go of when another snapshot is sent in its place', async () => {
    await cutAfter(2 * RESUMABLE_BYTES);
    const other = { ...header, snapshot: makeSyncName(3, 2) };
    const { wire } = await dial();
    await wire.writeLine(other);
    await sendPart(wire, 0, stream.length);
    expect(await finish(wire)).to.deep.equal({ done: other.snapshot });
    expect(await readBegun()).to.equal(undefined);
    expect(isStored()).to.equal(true);
  });

  it('is let go of with another term of the volume', async () => {
    await cutAfter(2 * RESUMABLE_BYTES);
    await assign(4);
    expect(await readBegun(4)).to.equal(undefined);
  });

  it('is let go of when the control plane names its sender no more, or removes the volume', async () => {
    await cutAfter(2 * RESUMABLE_BYTES);
    await node.assign('replica', 3, []);
    await assign();
    expect(await readBegun(), 'it is named again').to.equal(undefined);
    await cutAfter(2 * RESUMABLE_BYTES);
    await node.replication.remove(V);
    disk.volumes.delete(V);
    await assign();
    expect(await readBegun(), 'it is made again').to.equal(undefined);
  });

  it('is let go of when nobody goes on with it in time', async () => {
    await cutAfter(2 * RESUMABLE_BYTES);
    expect(await readBegun()).to.not.equal(undefined);
    for (const fire of expire) fire();
    expect(await readBegun()).to.equal(undefined);
  });

  it('begins anew after a restart of the agent that receives', async () => {
    await cutAfter(2 * RESUMABLE_BYTES);
    await node.close();
    await open();
    const { wire, begun } = await dial();
    expect(begun).to.equal(undefined);
    await wire.writeLine(header);
    await sendPart(wire, 0, stream.length);
    expect(await finish(wire)).to.deep.equal({ done: header.snapshot });
    expect(isStored()).to.equal(true);
  });
});

describe('a transfer that was cut', () => {
  const nodes = new LabNodes();
  let onA: MemoryDriver;
  let onB: MemoryDriver;
  let a: LabNode;
  let b: LabNode;
  let link: CutLink;

  const begin = async (first = new MemoryDriver()) => {
    [onA, onB] = [first, new MemoryDriver()];
    [a, b] = [await nodes.start('node_a', onA), await nodes.start('node_b', onB)];
    link = await CutLink.to(b.peers.address!);
    link.cuts.push(3 * RESUMABLE_BYTES);
    await b.assign('replica', 1, [a.asPeer]);
    await a.assign('primary', 1, []);
    onA.write(V, content);
  };
  const send = () => a.assign('primary', 1, [{ ...b.asPeer, address: link.address }]);
  const received = () => onB.steps.filter(step => step.startsWith('receive'));
  afterEach(async () => {
    link.close();
    await nodes.close();
  });

  it('is gone on with, and nothing is sent again but what was under way', async () => {
    await begin();
    await send();
    await until('it goes on', () => link.passed.length > 1);
    await untilCopied(content, onB);
    expect(link.passed[1]).to.be.below(2 * RESUMABLE_BYTES);
  });

  it('is gone on with after a restart of the agent that sends', async () => {
    await begin();
    await send();
    await until('it was cut', () => link.passed[0]! >= 3 * RESUMABLE_BYTES);
    const { key, files } = a;
    await a.close();
    a = await nodes.start('node_a', onA, { key, files });
    await send();
    await untilCopied(content, onB);
    expect(link.passed.slice(1).reduce((all, each) => all + each)).to.be.below(2 * RESUMABLE_BYTES);
  });

  it('is gone on with when the volume has changed meanwhile, and what has changed is sent as a difference', async () => {
    await begin();
    await send();
    await until('it was cut', () => link.passed[0]! >= 3 * RESUMABLE_BYTES);
    onA.write(V, `${content}, and more`);
    await untilCopied(`${content}, and more`, onB);
    expect(received()).to.have.length(2);
    expect(received()[1]).to.contain(' after ');
    expect(link.passed.slice(1).reduce((all, each) => all + each)).to.be.below(2 * RESUMABLE_BYTES);
  });

  it('keeps the snapshot that it sends while another copy comes further', async () => {
    await begin();
    const onC = new MemoryDriver();
    const c = await nodes.start('node_c', onC);
    await c.assign('replica', 1, [a.asPeer]);
    await a.assign('primary', 1, [{ ...b.asPeer, address: link.address }, c.asPeer]);
    await until('it was cut', () => link.passed[0]! >= 3 * RESUMABLE_BYTES);
    onA.write(V, `${content}, and more`);
    await untilCopied(`${content}, and more`, onC);
    await untilCopied(`${content}, and more`, onB);
    expect(received()).to.have.length(2);
  });

  it('begins anew when what is sent is not what was sent before', async () => {
    class Changing extends MemoryDriver {
      #sent = 0;
      override get driver() {
        const driver = super.driver;
        const send: typeof driver.send = async (id, name, parent) => {
          const held = this.volumes.get(id)!.snapshots;
          if (++this.#sent === 2) held.set(name, content.replace('x', 'y'));
          const sent = await driver.send(id, name, parent);
          held.set(name, content);
          return sent;
        };
        return { ...driver, send };
      }
    }
    await begin(new Changing());
    await send();
    await untilCopied(content, onB);
    expect(link.passed.length).to.be.at.least(3);
    expect(link.passed[1], 'nothing of another was sent').to.be.below(RESUMABLE_BYTES / 2);
    expect(link.passed[2], 'everything').to.be.above(4 * RESUMABLE_BYTES);
  });
});
