import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';

import { expect } from 'chai';

import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { systemClock } from '../../clock/index.js';
import { createMemoryDisk, type Disk } from '../disk.js';
import { StreamChecksum } from '../volumes/index.js';
import { makeSyncName, MemoryDriver } from './memory-driver.testing.js';
import { LabNode, V, W } from './replication-lab.testing.js';
import { TlsPeers } from './tls-peers.js';
import { PeerWire } from './wire.js';

const SNAPSHOT = makeSyncName(3, 1);
const AT = '2026-01-01T00:00:00.000Z';
const hello = { volume: V, ...makeTerm(3) };
const header = { snapshot: SNAPSHOT, at: AT };
const stream = Buffer.from(JSON.stringify({ more: 'content' }));
const checksum = new StreamChecksum().add(stream).toHex();

describe('what a replica receives', () => {
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const never = new AbortController().signal;
  let disk: MemoryDriver;
  let written = 0;
  let node: LabNode;
  let primary: TlsPeers;
  const wires: PeerWire[] = [];

  const begin = async (stallMs = 60_000) => {
    disk = new MemoryDriver();
    const files = new Map<string, string>();
    const memory = createMemoryDisk(files);
    const counting: Disk = { ...memory, write: (name, text) => memory.write(name, text).then(() => void written++) };
    node = await LabNode.open('node_b', disk.driver, { stallMs, files, disk: counting });
    primary = await TlsPeers.open({ key, clock: systemClock });
    const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
    await node.assign('replica', 3, [{ nodeId: 'node_a', publicKey }]);
  };
  const dial = async (peers = primary): Promise<{ readonly socket: Duplex; readonly wire: PeerWire }> => {
    const socket = await peers.connect({ address: node.peers.address!, publicKey: node.publicKey }, never);
    const wire = new PeerWire(socket, { clock: systemClock, stallMs: 60_000 });
    wires.push(wire);
    return { socket, wire };
  };
  /** What the receiver answers to a first line. */
  const greet = async (line: unknown): Promise<unknown> => {
    const { wire } = await dial();
    await wire.writeLine(line as object).catch(() => undefined);
    return wire.readLine().then(JSON.parse, () => 'closed');
  };
  const snapshots = () => [...disk.volumes.get(V)!.snapshots];

  beforeEach(() => begin());
  afterEach(async () => {
    for (const wire of wires.splice(0)) wire.close();
    await primary.close();
    await node.close();
  });

  it('is stored when it is whole, and answered', async () => {
    const { wire } = await dial();
    await wire.writeLine(hello);
    expect(JSON.parse(await wire.readLine())).to.deep.equal({ snapshots: [] });
    await wire.writeLine(header);
    await wire.writeFrame([stream.subarray(0, 5)]);
    await wire.writeFrame([stream.subarray(5)]);
    await wire.writeEnd(checksum);
    expect(JSON.parse(await wire.readLine())).to.deep.equal({ done: SNAPSHOT });
    expect(snapshots()).to.deep.equal([[SNAPSHOT, 'content']]);
  });

  it('may come in pieces of any length', async () => {
    const large = Buffer.from(JSON.stringify({ more: 'x'.repeat(3_000_000) }));
    const { wire } = await dial();
    await wire.writeLine(hello);
    await wire.readLine();
    await wire.writeLine(header);
    await wire.writeFrame([large]);
    await wire.writeEnd(new StreamChecksum().add(large).toHex());
    expect(JSON.parse(await wire.readLine())).to.deep.equal({ done: SNAPSHOT });
  });

  it('is asked for again without a write, and is not taken for another of its name', async () => {
    const offer = async (at: string) => {
      const { wire } = await dial();
      await wire.writeLine(hello);
      const held = JSON.parse(await wire.readLine()) as { snapshots: string[] };
      await wire.writeLine({ ...header, at });
      if (held.snapshots.length === 0) {
        await wire.writeFrame([stream]);
        await wire.writeEnd(checksum);
      }
      return { held, answer: JSON.parse(await wire.readLine()) as object };
    };
    await offer(AT);
    const files = [...node.files.values()];
    const writes = written;
    expect(await offer(AT)).to.deep.equal({
      held: { snapshots: [SNAPSHOT] },
      answer: { done: SNAPSHOT },
    });
    expect((await offer('2026-01-01T00:00:01.000Z')).answer).to.deep.equal({ refused: 'failed' });
    expect(written).to.equal(writes);
    expect([...node.files.values()]).to.deep.equal(files);
  });

  for (const [name, change] of Object.entries({
    'another volume': { volume: W },
    'a lower epoch': { epoch: 2 },
    'a higher epoch': { epoch: 4 },
    'another generation of the epoch': { generationId: 'f'.repeat(16) },
  })) {
    it(`is refused of ${name}`, async () => {
      expect(await greet({ ...hello, ...change }))
        .to.have.property('refused')
        .that.is.oneOf(['not_named', 'other_epoch']);
    });
  }

  it('is refused from a node that is not named, which learns nothing', async () => {
    const other = await TlsPeers.open({ key: generateKeyPairSync('ed25519').privateKey, clock: systemClock });
    const answers: string[] = [];
    for (const volume of [V, W]) {
      const { wire } = await dial(other);
      await wire.writeLine({ ...hello, volume });
      answers.push(await wire.readLine());
    }
    expect(answers[0]).to.equal(answers[1]);
    expect(JSON.parse(answers[0]!)).to.deep.equal({ refused: 'not_named' });
    await other.close();
  });

  it('is refused once the node is not named any more, also in the middle', async () => {
    const { wire } = await dial();
    await wire.writeLine(hello);
    await wire.readLine();
    await wire.writeLine(header);
    await wire.writeFrame([stream]);
    node.replication.assign(new Map());
    expect(await wire.readLine().catch(() => 'closed')).to.equal('closed');
    expect(await greet(hello)).to.deep.equal({ refused: 'not_named' });
    expect(snapshots()).to.deep.equal([]);
  });

  const hostileFirst: Readonly<Record<string, unknown>> = {
    'no object': 7,
    'a list': [hello],
    nothing: {},
    'a path as a volume': { ...hello, volume: '../../etc' },
    'a volume that is no text': { ...hello, volume: { toString: 'x' } },
    'an epoch that is no number': { ...hello, epoch: '3' },
    'an epoch below zero': { ...hello, epoch: -1 },
    'no generation': { ...hello, generationId: undefined },
    'a generation that is a path': { ...hello, generationId: '../../../../etc/' },
    'more than is asked for': { ...hello, snapshot: SNAPSHOT },
    'a line that never ends': { ...hello, volume: 'v'.repeat(1_000_000) },
    'a prototype': JSON.parse(`{"__proto__": {"volume": "${V}", "epoch": 3}}`),
  };
  for (const [name, line] of Object.entries(hostileFirst)) {
    it(`is closed by a greeting with ${name}`, async () => {
      expect(await greet(line)).to.equal('closed');
    });
  }

  const hostileHeaders: Readonly<Record<string, object>> = {
    'a path': { ...header, snapshot: '../../../etc/passwd' },
    'a name of the driver': { ...header, snapshot: '.data' },
    'a name of people': { ...header, snapshot: 'before-upgrade' },
    'an epoch to come': { ...header, snapshot: makeSyncName(4, 1) },
    'a path as its parent': { ...header, parent: '..' },
    'a time that is none': { ...header, at: 'yesterday' },
    'a size below zero': { ...header, bytes: -1 },
    'an origin that is a path': { ...header, origins: ['../x'] },
    'more origins than are kept': { ...header, origins: Array.from({ length: 65 }, () => SNAPSHOT) },
    'a snapshot that is said to be here': { ...header, isHeld: true },
    'a parent that is not here': { ...header, parent: makeSyncName(2, 9) },
  };
  for (const [name, line] of Object.entries(hostileHeaders)) {
    it(`is refused with a header of ${name}`, async () => {
      const { wire } = await dial();
      await wire.writeLine(hello);
      await wire.readLine();
      await wire.writeLine(line);
      await wire
        .writeFrame([Buffer.from(JSON.stringify({ parent: (line as { parent?: string }).parent, more: 'harm' }))])
        .catch(() => undefined);
      const answer = await wire.readLine().catch(() => 'closed');
      expect(answer).to.match(/^closed$|refused/);
      expect(snapshots()).to.deep.equal([]);
    });
  }

  for (const [name, send] of Object.entries({
    'ends too early': async (wire: PeerWire) => {
      await wire.writeFrame([stream.subarray(0, 5)]);
      wire.close();
    },
    'is altered': async (wire: PeerWire) => {
      await wire.writeFrame([Buffer.from(stream.toString().replace('content', 'harmful'))]);
      await wire.writeEnd(checksum);
    },
    'has a frame that is too long': async (_wire: PeerWire, socket: Duplex) =>
      void socket.write(Buffer.of(0, 16, 0, 1)),
  })) {
    it(`leaves nothing of a stream that ${name}, and takes the next one`, async () => {
      const { wire, socket } = await dial();
      await wire.writeLine(hello);
      await wire.readLine();
      await wire.writeLine(header);
      await send(wire, socket).catch(() => undefined);
      expect(await wire.readLine().catch(() => 'closed')).to.match(/^closed$|refused/);
      expect(snapshots()).to.deep.equal([]);
      const again = await dial();
      await again.wire.writeLine(hello);
      await again.wire.readLine();
      await again.wire.writeLine(header);
      await again.wire.writeFrame([stream]);
      await again.wire.writeEnd(checksum);
      expect(JSON.parse(await again.wire.readLine())).to.deep.equal({ done: SNAPSHOT });
    });
  }

  it('is given up when nothing comes any more, and a second connection of the primary replaces the first', async () => {
    const first = await dial();
    await first.wire.writeLine(hello);
    await first.wire.readLine();
    await first.wire.writeLine(header);
    const second = await dial();
    await second.wire.writeLine(hello);
    expect(await first.wire.readLine().catch(() => 'closed')).to.match(/^closed$|refused/);
    expect(JSON.parse(await second.wire.readLine())).to.deep.equal({ snapshots: [] });
    await node.close();
    await begin(200);
    const silent = await dial();
    await silent.wire.writeLine(hello);
    await silent.wire.readLine();
    expect(await silent.wire.readLine().catch(() => 'closed')).to.equal('closed');
  });

  it('says nothing to one who does not speak TLS', async () => {
    const socket = connect(node.peers.port, '127.0.0.1');
    socket.write(`${JSON.stringify(hello)}\n`);
    const said = await text(socket).catch(() => '');
    expect(said).to.not.include('snapshots');
  });
});
