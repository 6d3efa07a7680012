import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readFileSync,
  symlinkSync,
  linkSync,
  writeFileSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

import { expect } from 'chai';

import { systemClock } from '../../clock/index.js';
import type { IncomingSnapshot, VolumeDriver } from './driver.js';
import { A, arriving, B, type Lab, listTree, MIB, openLab, refusal } from './driver-lab.testing.js';
import { openVolumeDriver } from './open-driver.js';

/** What every driver does, whatever it keeps volumes in. `sizeBytes` is one that can be halved. */
export function describeDriver(choice: 'btrfs' | 'directory', sizeBytes: number): void {
  let lab: Lab;
  let driver: VolumeDriver;
  beforeEach(async () => {
    lab = await openLab(choice);
    ({ driver } = lab);
  });
  afterEach(() => lab.close());

  const make = async (id: string) => {
    await driver.materialise({ id, sizeBytes });
    return driver.mountPoint(id);
  };
  const send = async (snapshot: string, parent?: string) => {
    const { stream, checksum } = await driver.send(A, snapshot, parent);
    return { bytes: await buffer(stream), checksum: await checksum };
  };
  const receive = (bytes: Buffer, incoming: IncomingSnapshot) => driver.receive(B, arriving(bytes), incoming);

  it('makes a volume once, and finds it as it was', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'kept'), 'yes');
    expect(await driver.materialise({ id: A, sizeBytes: 2 * sizeBytes })).to.deep.equal({ id: A, sizeBytes });
    expect(readFileSync(join(await driver.mountPoint(A), 'kept'), 'utf8')).to.equal('yes');
    expect(await driver.list()).to.deep.equal([{ id: A, sizeBytes }]);
  });

  it('refuses what is no id and what is no name of a snapshot, and does not find what is not there', async () => {
    for (const id of ['', '..', '../etc', 'vol_', `${A}/../${A}`, `${A}\n`, 'net_01jx4t9mk3v8q2zr5w7y6n0rda']) {
      expect(await refusal(driver.materialise({ id, sizeBytes })), id).to.equal('refused');
      expect(await refusal(driver.remove(id)), id).to.equal('refused');
    }
    expect(await refusal(driver.mountPoint(A))).to.equal('not_found');
    expect(await refusal(driver.usage(A))).to.equal('not_found');
    await make(A);
    for (const name of ['', '.', '..', '.data', 'a/b', '-a', 'A', 'a'.repeat(64)]) {
      expect(await refusal(driver.snapshot(A, name)), name).to.equal('refused');
    }
    expect(await refusal(driver.send(A, 'absent'))).to.equal('not_found');
    expect(await refusal(driver.promote(A, 'absent'))).to.equal('not_found');
    await driver.dropSnapshot(A, 'absent');
    await driver.remove(B);
  });

  it('gives folders inside of a volume, and nothing that leads out of it', async () => {
    const path = await make(A);
    const inner = await driver.mountPoint(A, 'a/b');
    writeFileSync(join(inner, 'file'), 'inside');
    expect(readFileSync(join(path, 'a/b/file'), 'utf8')).to.equal('inside');
    expect(await driver.mountPoint(A, './a//b')).to.equal(inner);
    symlinkSync('/etc', join(path, 'etc'));
    symlinkSync('..', join(path, 'up'));
    symlinkSync('/nowhere', join(path, 'dangling'));
    for (const subPath of ['etc', 'etc/ssl', 'up', 'up/x', 'dangling', '..', 'a/../../x', '/etc', 'a/b/file', 'a\0b']) {
      expect(await refusal(driver.mountPoint(A, subPath)), subPath).to.equal('refused');
    }
    expect(readdirSync(lab.root)).to.deep.equal([A]);
  });

  it('measures what is used', async () => {
    const path = await make(A);
    const before = await driver.usage(A);
    expect(before.sizeBytes).to.equal(sizeBytes);
    writeFileSync(join(path, 'data'), randomBytes(20 * MIB), { flush: true });
    spawnSync('sync', ['--file-system', path]);
    const { usedBytes } = await driver.usage(A);
    expect(usedBytes - before.usedBytes).to.be.within(19 * MIB, 30 * MIB);
  });

  it('grows and shrinks a volume in use, and never below what it holds', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'data'), randomBytes(20 * MIB), { flush: true });
    const before = listTree(path);
    for (const size of [2 * sizeBytes, sizeBytes / 2, sizeBytes, sizeBytes]) {
      expect(await driver.resize(A, size)).to.deep.equal({ id: A, sizeBytes: size });
      expect((await driver.usage(A)).sizeBytes).to.equal(size);
      expect(listTree(await driver.mountPoint(A))).to.equal(before);
    }
    expect(await refusal(driver.resize(A, MIB))).to.equal('refused');
    expect(await refusal(driver.resize(B, sizeBytes))).to.equal('not_found');
    expect(await driver.list()).to.deep.equal([{ id: A, sizeBytes }]);
  });

  it('keeps snapshots as they were', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'file'), 'one');
    await driver.snapshot(A, 'first');
    writeFileSync(join(path, 'file'), 'two');
    await driver.snapshot(A, 'second');
    await driver.snapshot(A, 'first');
    expect(await driver.listSnapshots(A)).to.deep.equal(['first', 'second']);
    await driver.promote(A, 'first', 'aside');
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('one');
    await driver.promote(A, 'aside');
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('two');
    for (const name of ['first', 'first', 'second']) await driver.dropSnapshot(A, name);
    expect(await driver.listSnapshots(A)).to.deep.equal(['aside']);
  });

  it('moves the files of a volume aside at once, and begins an empty one', async () => {
    writeFileSync(join(await make(A), 'file'), 'one');
    for (const name of ['aside', 'aside']) await driver.moveAside(A, name);
    const path = await driver.mountPoint(A);
    expect(readdirSync(path)).to.deep.equal([]);
    writeFileSync(join(path, 'other'), 'two', { mode: 0o600 });
    await driver.promote(A, 'aside');
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('one');
  });

  it('tells whether a volume has changed since a snapshot', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'file'), 'one', { flush: true });
    await driver.snapshot(A, 'first');
    expect([await driver.isChanged(A, 'first'), await driver.isChanged(A, 'first')]).to.deep.equal([false, false]);
    const before = await driver.writtenBytes(A);
    writeFileSync(join(path, 'file'), 'two', { flush: true });
    expect(await driver.isChanged(A, 'first')).to.equal(true);
    if (before !== undefined) expect(await driver.writtenBytes(A)).to.be.above(before);
    await driver.snapshot(A, 'second');
    await driver.dropSnapshot(A, 'first');
    expect(await driver.isChanged(A, 'second')).to.equal(false);
    rmSync(join(path, 'file'));
    expect(await driver.isChanged(A, 'second')).to.equal(true);
  });

  it('sends a snapshot and then the difference, and the other volume becomes the same', async () => {
    const [path] = [await make(A), await make(B)];
    mkdirSync(join(path, 'folder/empty'), { recursive: true });
    writeFileSync(join(path, 'folder/file'), randomBytes(3 * MIB), { mode: 0o640 });
    linkSync(join(path, 'folder/file'), join(path, 'another name'));
    symlinkSync('/etc/passwd', join(path, 'symlink'));
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff, 0xfe])]), 'not UTF-8');
    writeFileSync(join(path, 'nothing'), '');
    await driver.snapshot(A, 'first');
    const whole = await send('first');
    await receive(whole.bytes, { snapshot: 'first', checksum: whole.checksum });

    writeFileSync(join(path, 'folder/new'), 'new');
    rmSync(join(path, 'symlink'));
    await driver.snapshot(A, 'second');
    const more = await send('second', 'first');
    expect(more.bytes.length).to.be.below(whole.bytes.length / 10);
    const checksum = new Promise<string>(resolve => setImmediate(resolve, more.checksum));
    await receive(more.bytes, { snapshot: 'second', parent: 'first', checksum });
    await receive(more.bytes, { snapshot: 'second', parent: 'first', checksum: 'unread' });
    expect(await driver.listSnapshots(B)).to.deep.equal(['first', 'second']);
    await driver.promote(B, 'second');
    expect(listTree(await driver.mountPoint(B))).to.equal(listTree(path));
  });

  it('refuses every stream that is not what was sent, and then takes the right one', async () => {
    const [path] = [await make(A), await make(B)];
    writeFileSync(join(path, 'file'), randomBytes(200_000));
    await driver.snapshot(A, 'first');
    writeFileSync(join(path, 'more'), randomBytes(1000));
    await driver.snapshot(A, 'second');
    const { bytes, checksum } = await send('first');
    const difference = await send('second', 'first');
    const flipped = Buffer.from(bytes);
    flipped[100_000]! ^= 1;
    const bad: Record<string, [Buffer, Partial<IncomingSnapshot>?]> = {
      'one bit is different': [flipped],
      'the checksum is of another': [bytes, { checksum: '0'.repeat(24) }],
      'it is empty': [Buffer.alloc(0)],
      'it is noise': [randomBytes(100_000)],
      'it goes on': [Buffer.concat([bytes, Buffer.from('more')])],
      'it comes twice': [Buffer.concat([bytes, bytes])],
      'the parent is not here': [difference.bytes, { checksum: difference.checksum }],
    };
    for (const end of [5, 17, 60, 1000, 150_000, bytes.length - 10, bytes.length - 1]) {
      bad[`it ends after ${end} bytes`] = [bytes.subarray(0, end)];
    }
    for (const [name, [stream, incoming]] of Object.entries(bad)) {
      const refused = receive(stream, { snapshot: 'first', checksum, ...incoming });
      expect(await refusal(refused), name).to.be.oneOf(['bad_stream', 'failed']);
      expect(await driver.listSnapshots(B), name).to.deep.equal([]);
    }
    expect(await refusal(receive(difference.bytes, { snapshot: 'x', parent: 'first', checksum }))).to.equal(
      'not_found',
    );
    await receive(bytes, { snapshot: 'first', checksum });
    await receive(difference.bytes, { snapshot: 'second', parent: 'first', checksum: difference.checksum });
    expect(await driver.listSnapshots(B)).to.deep.equal(['first', 'second']);
  });

  it('refuses the difference to another parent of the same name', async () => {
    const [path, other] = [await make(A), await make(B)];
    writeFileSync(join(path, 'file'), 'one');
    writeFileSync(join(other, 'file'), 'two');
    for (const id of [A, B]) await driver.snapshot(id, 'first');
    writeFileSync(join(path, 'more'), 'more');
    await driver.snapshot(A, 'second');
    const { bytes, checksum } = await send('second', 'first');
    expect(await refusal(receive(bytes, { snapshot: 'second', parent: 'first', checksum }))).to.equal('bad_stream');
    expect(await driver.listSnapshots(B)).to.deep.equal(['first']);
  });

  it('removes a volume while a stream for it arrives', async () => {
    // The first moments are before anything of it is read.
    for (const afterMs of [2, 4, 6, 8, 10, 15, 100]) {
      await make(B);
      const stalled = new Readable({ read: () => undefined });
      const arrival = refusal(driver.receive(B, stalled, { snapshot: 'first', checksum: '' }));
      await new Promise(resolve => setTimeout(resolve, afterMs));
      await driver.remove(B);
      expect(await arrival, `after ${afterMs} ms`).to.be.oneOf(['failed', 'not_found']);
    }
    expect(await driver.list()).to.deep.equal([]);
    expect(readdirSync(lab.root)).to.deep.equal([]);
  });

  it('gives up streams that stall, and one whose checksum does not come', async () => {
    const hasty = await openVolumeDriver(choice, { clock: systemClock, root: lab.root, reserveBytes: 0, stallMs: 300 });
    const [path] = [await make(A), await make(B)];
    writeFileSync(join(path, 'file'), randomBytes(8 * MIB), { flush: true });
    await driver.snapshot(A, 'first');
    const unread = await hasty.send(A, 'first');
    expect(await refusal(unread.checksum), 'nobody reads it').to.equal('failed');
    const { bytes, checksum } = await send('first');
    const stalled = new Readable({ read: () => undefined });
    stalled.push(bytes.subarray(0, 1000));
    const late = hasty.receive(B, stalled, { snapshot: 'first', checksum });
    expect(await refusal(late), 'no more comes').to.equal('failed');
    const never = new Promise<string>(() => undefined);
    const unsealed = hasty.receive(B, arriving(bytes), { snapshot: 'first', checksum: never });
    expect(await refusal(unsealed), 'no checksum comes').to.equal('failed');
    expect(await driver.listSnapshots(B)).to.deep.equal([]);
    await receive(bytes, { snapshot: 'first', checksum });
    expect(await driver.listSnapshots(B)).to.deep.equal(['first']);
  });

  it('makes no empty volume in the place of one whose bytes are away', async () => {
    expect(await refusal(driver.materialise({ id: A, sizeBytes, isMade: true }))).to.equal('not_found');
    expect(await driver.list()).to.deep.equal([]);
    const path = await make(A);
    writeFileSync(join(path, 'file'), 'kept', { flush: true });
    await driver.materialise({ id: A, sizeBytes, isMade: true });
    const bytes = join(lab.root, A, choice === 'btrfs' ? 'image' : '.data');
    const away = join(lab.root, 'away');
    renameSync(bytes, away);
    await driver.recover();
    expect(await refusal(driver.materialise({ id: A, sizeBytes, isMade: true }))).to.equal('not_found');
    renameSync(away, bytes);
    await driver.materialise({ id: A, sizeBytes, isMade: true });
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('kept');
  });

  it('does not say that a volume is removed while its bytes cannot be, and starts all the same', async () => {
    await make(A);
    const left = join(lab.root, `.removed-${A}`);
    mkdirSync(left);
    writeFileSync(join(left, 'held'), '');
    const hold = (flag: string) => spawnSync('chattr', [flag, join(left, 'held')]).status === 0;
    if (!hold('+i')) throw new Error('chattr: a file that cannot be removed is needed here');
    try {
      await driver.recover();
      expect(await refusal(driver.remove(A))).to.equal('failed');
      expect(await refusal(driver.remove(A))).to.equal('failed');
    } finally {
      hold('-i');
    }
    await driver.remove(A);
    expect(readdirSync(lab.root)).to.deep.equal([]);
  });

  it('leaves alone what another driver has made', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'file'), 'kept', { flush: true });
    const record = join(lab.root, A, 'volume.json');
    const own = readFileSync(record, 'utf8');
    writeFileSync(record, own.replace(choice, 'other'));
    await driver.recover();
    expect(await refusal(driver.mountPoint(A))).to.equal('refused');
    expect(await refusal(driver.materialise({ id: A, sizeBytes }))).to.equal('refused');
    expect(await refusal(driver.remove(A))).to.equal('refused');
    expect((await driver.list())[0])
      .to.have.property('fault')
      .that.matches(/--volume-driver other/);
    writeFileSync(record, own);
    await driver.recover();
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('kept');
  });

  it('tells of a volume whose record is damaged, and mends it', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'file'), 'kept');
    writeFileSync(join(lab.root, A, 'volume.json'), '{"sizeBytes":');
    await driver.recover();
    expect((await driver.list())[0])
      .to.have.property('fault')
      .that.matches(/; materialise/);
    await driver.materialise({ id: A, sizeBytes });
    expect(await driver.list()).to.deep.equal([{ id: A, sizeBytes }]);
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('kept');
  });
}
