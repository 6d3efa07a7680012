import { createPublicKey, generateKeyPairSync } from 'node:crypto';

import { expect } from 'chai';

import type { VolumeRole } from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { systemClock } from '../../clock/index.js';
import { createMemoryDisk, type Disk } from '../disk.js';
import { StreamChecksum } from '../volumes/index.js';
import { makeSyncName, MemoryDriver } from './memory-driver.testing.js';
import type { ReplicationRecord } from './record.js';
import { LabNode, V } from './replication-lab.testing.js';
import { TlsPeers } from './tls-peers.js';
import { PeerWire } from './wire.js';

const AT = '2026-01-01T00:00:00.000Z';
const [first, second, third] = [1, 2, 3].map(sequence => makeSyncName(2, sequence)) as [string, string, string];
const lost = { name: 'divergent-1', epoch: 1, at: AT };
const record: ReplicationRecord = {
  ...makeTerm(2),
  role: 'replica',
  synced: { snapshot: first, at: AT, ...makeTerm(2) },
  divergent: [lost],
};

describe('divergent bytes on a disk that is away', () => {
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
  const files = new Map<string, string>();
  let isFull = false;
  let driver: MemoryDriver;
  let node: LabNode;
  let primary: TlsPeers;

  const open = async () => {
    const memory = createMemoryDisk(files);
    const write: Disk['write'] = async (name, text) => {
      if (isFull) throw new Error('ENOSPC');
      await memory.write(name, text);
    };
    node = await LabNode.open('node_a', driver.driver, { files, disk: { ...memory, write } });
  };
  const assign = (epoch = 2, role: VolumeRole = 'replica') =>
    node.assign(role, epoch, [{ nodeId: 'node_b', publicKey }]);
  /** The disk that is there instead, by the names of its snapshots; answers the one before. */
  const mount = (...names: readonly string[]) => {
    const before = driver.volumes.get(V);
    const snapshots = new Map(names.map(name => [name, `of ${name}`]));
    driver.volumes.set(V, { content: '', written: 0, changes: 0, snapshots });
    return before;
  };
  const begin = async (kept: object, ...names: readonly string[]) => {
    files.set(`replication-${V}.json`, JSON.stringify(kept));
    mount(...names);
    await open();
    await assign();
  };
  /** Has the primary send a snapshot; answers the last that it is told. */
  const send = async (snapshot: string, epoch = 2, more: object = {}): Promise<unknown> => {
    const socket = await primary.connect(
      { address: node.peers.address!, publicKey: node.publicKey },
      new AbortController().signal,
    );
    const wire = new PeerWire(socket, { clock: systemClock, stallMs: 60_000 });
    const stream = Buffer.from(JSON.stringify({ more: `of ${snapshot}` }));
    try {
      await wire.writeLine({ volume: V, ...makeTerm(epoch) });
      const { snapshots } = JSON.parse(await wire.readLine()) as { snapshots: readonly string[] };
      await wire.writeLine({ snapshot, at: AT, ...more });
      if (!snapshots.includes(snapshot)) {
        await wire.writeFrame([stream]);
        await wire.writeEnd(new StreamChecksum().add(stream).toHex());
      }
      return JSON.parse(await wire.readLine());
    } catch {
      return 'closed';
    } finally {
      wire.close();
    }
  };
  const listDivergent = async (epoch = 2, role: VolumeRole = 'replica') =>
    ((await node.replication.describe(await assign(epoch, role))).divergent ?? []).map(({ name }) => name);

  beforeEach(async () => {
    isFull = false;
    files.clear();
    driver = new MemoryDriver();
    primary = await TlsPeers.open({ key, clock: systemClock });
  });
  afterEach(async () => {
    await primary.close();
    await node.close();
  });

  it('are known when the copy that the disk has arrives beside it', async () => {
    await begin(record, first, 'divergent-1');
    mount();
    expect(await send(first)).to.deep.equal({ done: first });
    expect(await send(second)).to.deep.equal({ done: second });
    mount(first, 'divergent-1');
    expect(await send(third)).to.deep.equal({ done: third });
    expect(await listDivergent()).to.deep.equal(['divergent-1']);
  });

  it('are known of each of two disks that take turns', async () => {
    const other = { name: 'divergent-x', epoch: 1, at: AT };
    await begin({ ...record, divergent: [lost, other] }, first, 'divergent-x');
    mount('divergent-1');
    await send(second);
    expect(await listDivergent()).to.deep.equal(['divergent-1']);
    mount(first, 'divergent-x');
    await send(third);
    expect(await listDivergent()).to.deep.equal(['divergent-x']);
    mount('divergent-1', second);
    expect(await listDivergent()).to.deep.equal(['divergent-1']);
  });

  it('are known when the disk was back for less than a copy', async () => {
    await begin(record, first);
    mount('divergent-1');
    isFull = true;
    expect(await send(second)).to.equal('closed');
    isFull = false;
    mount(first);
    await send(second);
    mount('divergent-1');
    expect(await listDivergent()).to.deep.equal(['divergent-1']);
  });

  it('are what only the copy on it had, when the new primary has sent another one beside it', async () => {
    const fresher = makeSyncName(1, 7);
    const synced = { snapshot: fresher, at: AT, ...makeTerm(1) };
    await begin({ ...makeTerm(2), role: 'replica', synced }, fresher);
    mount();
    await send(first);
    mount(fresher);
    await send(second);
    expect([...driver.volumes.get(V)!.snapshots.keys()]).to.have.members([fresher, second]);
    expect(await listDivergent()).to.deep.equal([fresher]);
  });

  it('are what only a former primary had, also when a copy has arrived since that was not recorded', async () => {
    const own = makeSyncName(1, 7);
    const synced = { snapshot: own, at: AT, ...makeTerm(1) };
    await begin({ ...makeTerm(2), role: 'replica', synced }, own);
    isFull = true;
    expect(await send(first)).to.equal('closed');
    isFull = false;
    await assign(3);
    expect(await send(first, 3)).to.deep.equal({ done: first });
    expect([...driver.volumes.get(V)!.snapshots.keys()]).to.have.members([own, first]);
    expect(await listDivergent(3)).to.deep.equal([own]);
  });

  it('are what a fresher copy had, also when its primary has them beside its volume and sends the difference to them', async () => {
    const fresher = makeSyncName(1, 7);
    const synced = { snapshot: fresher, at: AT, ...makeTerm(1) };
    await begin({ ...makeTerm(2), role: 'replica', synced }, fresher);
    const beside = { parent: fresher, origins: [makeSyncName(1, 3)] };
    expect(await send(first, 2, beside)).to.deep.equal({ done: first });
    expect(await listDivergent()).to.deep.equal([fresher]);
    expect([...driver.volumes.get(V)!.snapshots.keys()]).to.have.members([fresher, first]);
  });

  it('are a copy again when the next primary has them, and are not sent', async () => {
    const fresher = makeSyncName(1, 7);
    await begin({ ...record, divergent: [{ ...lost, name: fresher }] }, first, fresher);
    await assign(3);
    const before = driver.steps.length;
    expect(await send(fresher, 3)).to.deep.equal({ done: fresher });
    expect(driver.steps.slice(before)).to.deep.equal([]);
    expect(await listDivergent(3)).to.deep.equal([first]);
  });

  it('are known when the copy beside it was promoted and demoted meanwhile', async () => {
    await begin(record, first, 'divergent-1');
    mount();
    await send(second);
    expect(await listDivergent(3, 'primary')).to.deep.equal([]);
    await node.assign('primary', 3, [{ nodeId: 'node_b', publicKey }], { discard: [{ name: 'other', at: AT }] });
    await assign(4);
    await send(makeSyncName(4, 1), 4);
    mount(first, 'divergent-1');
    await send(makeSyncName(4, 2), 4);
    expect(await listDivergent(4)).to.include('divergent-1');
  });

  it('are known when another disk has the same copy as the one that they are on', async () => {
    const fresher = makeSyncName(1, 7);
    await begin({ ...record, divergent: [{ ...lost, name: fresher }] }, first, fresher);
    mount(first);
    await send(second);
    mount(first, fresher);
    await send(third);
    expect(await listDivergent()).to.deep.equal([fresher]);
  });

  it('are not told when they were removed by hand', async () => {
    await begin(record, first, 'divergent-1');
    mount(first);
    await send(second);
    expect(await listDivergent()).to.deep.equal([]);
  });

  it('are forgotten when they were removed by order, also while a copy arrives', async () => {
    await begin({ ...record, synced: undefined, divergent: [lost, { ...lost, name: 'divergent-x' }] }, 'divergent-1');
    const { receive } = driver.driver;
    let isOrdered = false;
    Object.assign(node.driver, {
      receive: async (...given: Parameters<typeof receive>) => {
        await receive(...given);
        await node.assign('replica', 2, [{ nodeId: 'node_b', publicKey }], { discard: [lost] });
        isOrdered = true;
      },
    });
    expect(await send(first)).to.deep.equal({ done: first });
    expect(isOrdered).to.equal(true);
    const { divergent, synced } = JSON.parse(files.get(`replication-${V}.json`)!) as ReplicationRecord;
    expect([divergent?.map(({ name }) => name), synced?.snapshot]).to.deep.equal([['divergent-x'], first]);
  });

  it('are not taken for the copy that counts when they are removed by order at that moment', async () => {
    const fresher = makeSyncName(1, 7);
    const aside = { ...lost, name: fresher };
    await begin({ ...record, divergent: [aside] }, first, fresher);
    const socket = await primary.connect(
      { address: node.peers.address!, publicKey: node.publicKey },
      new AbortController().signal,
    );
    const wire = new PeerWire(socket, { clock: systemClock, stallMs: 60_000 });
    await wire.writeLine({ volume: V, ...makeTerm(2) });
    expect(JSON.parse(await wire.readLine())).to.deep.include({ snapshots: [fresher, first] });
    await node.assign('replica', 2, [{ nodeId: 'node_b', publicKey }], { discard: [aside] });
    await wire.writeLine({ snapshot: fresher, at: AT, isHeld: true });
    expect(await wire.readLine().catch(() => 'closed')).to.equal('closed');
    wire.close();
    expect([...driver.volumes.get(V)!.snapshots.keys()]).to.deep.equal([first]);
  });

  it('are removed by order when the disk is back, also if they are the newest copy here until another arrives', async () => {
    const synced = { snapshot: lost.name, at: AT, ...makeTerm(1) };
    await begin({ ...record, synced }, lost.name);
    const discard = (epoch = 2) =>
      node.assign('replica', epoch, [{ nodeId: 'node_b', publicKey }], { discard: [lost] });
    mount();
    await discard();
    mount(lost.name);
    expect(await listDivergent()).to.deep.equal([lost.name]);
    await send(first);
    await discard();
    expect([...driver.volumes.get(V)!.snapshots.keys()]).to.deep.equal([first]);
  });

  for (const [name, damage] of Object.entries({
    'no list of divergent bytes': { divergent: 'all' },
    'divergent bytes without a name': { divergent: [null] },
    'no copy': { synced: 'copy' },
    'a copy without its epoch': { synced: { snapshot: first, at: AT } },
    'a copy without its generation': { synced: { snapshot: first, at: AT, epoch: 2 } },
    'no generation': { generationId: undefined },
    'no origins': { origins: 5 },
    'origins that are no names': { origins: [{}] },
    'no times': { times: [] },
    'no common snapshots': { common: { node_b: null } },
  })) {
    it(`are not looked for by a record that is damaged: it has ${name}`, async () => {
      files.set(`replication-${V}.json`, JSON.stringify({ ...record, ...damage }));
      mount(first, 'divergent-1');
      await open();
      const message = await assign().then(
        () => 'assigned',
        (thrown: Error) => thrown.message,
      );
      expect(message).to.include('the record of what this copy is was lost; restore the state folder');
    });
  }
});
