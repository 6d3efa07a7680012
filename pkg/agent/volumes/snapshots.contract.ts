import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

import { expect } from 'chai';

import { systemClock } from '../../clock/index.js';
import type { IncomingSnapshot, VolumeDriver } from './driver.js';
import { A, arriving, B, type Lab, listTree, MIB, openEach, catchCause } from './driver-lab.testing.js';
import { openVolumeDriver } from './open-driver.js';

/** What every driver does with snapshots: taken, sent, received and promoted. */
export function describeSnapshots(choice: 'btrfs' | 'directory', sizeBytes: number): void {
  let lab: Lab;
  let driver: VolumeDriver;
  const make = openEach(choice, sizeBytes, opened => {
    lab = opened;
    ({ driver } = opened);
  });
  const send = async (snapshot: string, parent?: string) => {
    const { stream, checksum } = await driver.send(A, snapshot, parent);
    return { bytes: await buffer(stream), checksum: await checksum };
  };
  const receive = (bytes: Buffer, incoming: IncomingSnapshot) => driver.receive(B, arriving(bytes), incoming);

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

  it('gives a cheap sign of a change, also of one that was not flushed', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'file'), 'one', { flush: true });
    await driver.snapshot(A, 'first');
    await driver.isChanged(A, 'first');
    if (choice === 'directory') {
      expect(await driver.changeMark(A)).to.equal(undefined);
      return;
    }
    const changes = [
      () => writeFileSync(join(path, 'file'), 'two'),
      () => appendFileSync(join(path, 'file'), ' three'),
      () => writeFileSync(join(path, 'file'), 'x', { flag: 'r+' }),
      () => mkdirSync(join(path, 'folder')),
      () => rmSync(join(path, 'file')),
    ];
    for (const change of changes) {
      await driver.isChanged(A, 'first');
      const before = await driver.changeMark(A);
      expect(await driver.changeMark(A), 'nothing has happened').to.equal(before);
      change();
      expect(await driver.changeMark(A))
        .to.be.a('string')
        .and.not.to.equal(before);
    }
  });

  it('is unchanged since the snapshot that it was promoted to, until something is written', async () => {
    const [path] = [await make(A), await make(B)];
    writeFileSync(join(path, 'file'), 'one', { flush: true });
    await driver.snapshot(A, 'first');
    const { bytes, checksum } = await send('first');
    await receive(bytes, { snapshot: 'first', checksum });
    for (const id of [A, B]) {
      await driver.promote(id, 'first');
      expect(await driver.isChanged(id, 'first'), 'nothing was written').to.equal(false);
      await driver.snapshot(id, 'second');
      expect(await driver.isChanged(id, 'second')).to.equal(false);
      writeFileSync(join(await driver.mountPoint(id), 'more'), 'two', { flush: true });
      expect([await driver.isChanged(id, 'first'), await driver.isChanged(id, 'second')]).to.deep.equal([true, true]);
    }
  });

  it('sends a snapshot and then the difference, and the other volume becomes the same', async () => {
    const [path] = [await make(A), await make(B)];
    mkdirSync(join(path, 'folder/empty'), { recursive: true });
    writeFileSync(join(path, 'folder/file'), randomBytes(3 * MIB), { mode: 0o640 });
    linkSync(join(path, 'folder/file'), join(path, 'another name'));
    symlinkSync('/etc/passwd', join(path, 'symlink'));
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff, 0xfe])]), 'not UTF-8');
    writeFileSync(join(path, 'nothing'), '');
    writeFileSync(join(path, 'folder/small'), 'small');
    symlinkSync('folder', join(path, 'way'));
    await driver.snapshot(A, 'first');
    const whole = await send('first');
    await receive(whole.bytes, { snapshot: 'first', checksum: whole.checksum });

    writeFileSync(join(path, 'folder/new'), 'new');
    rmSync(join(path, 'symlink'));
    rmSync(join(path, 'way'));
    mkdirSync(join(path, 'way'));
    writeFileSync(join(path, 'way/small'), 'small');
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
      expect(await catchCause(refused), name).to.be.oneOf(['bad_stream', 'failed']);
      expect(await driver.listSnapshots(B), name).to.deep.equal([]);
    }
    expect(await catchCause(receive(difference.bytes, { snapshot: 'x', parent: 'first', checksum }))).to.equal(
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
    expect(await catchCause(receive(bytes, { snapshot: 'second', parent: 'first', checksum }))).to.equal('bad_stream');
    expect(await driver.listSnapshots(B)).to.deep.equal(['first']);
  });

  it('removes a volume while a stream for it arrives', async () => {
    // The first moments are before anything of it is read.
    for (const afterMs of [2, 4, 6, 8, 10, 15, 100]) {
      await make(B);
      const stalled = new Readable({ read: () => undefined });
      const arrival = catchCause(driver.receive(B, stalled, { snapshot: 'first', checksum: '' }));
      await new Promise(resolve => setTimeout(resolve, afterMs));
      await driver.remove(B);
      expect(await arrival, `after ${afterMs} ms`).to.be.oneOf(['failed', 'not_found']);
    }
    expect(await driver.list()).to.deep.equal([]);
    expect(readdirSync(lab.root)).to.deep.equal([]);
  });

  it('gives up streams that stall, and one whose checksum does not come', async () => {
    const hasty = await openVolumeDriver(choice, {
      clock: systemClock,
      root: lab.root,
      reserveBytes: 0,
      keepRemovedMs: 0,
      stallMs: 300,
    });
    const [path] = [await make(A), await make(B)];
    writeFileSync(join(path, 'file'), randomBytes(8 * MIB), { flush: true });
    await driver.snapshot(A, 'first');
    const unread = await hasty.send(A, 'first');
    expect(await catchCause(unread.checksum), 'it is not read').to.equal('failed');
    const { bytes, checksum } = await send('first');
    const stalled = new Readable({ read: () => undefined });
    stalled.push(bytes.subarray(0, 1000));
    const late = hasty.receive(B, stalled, { snapshot: 'first', checksum });
    expect(await catchCause(late), 'no more comes').to.equal('failed');
    const never = new Promise<string>(() => undefined);
    const unsealed = hasty.receive(B, arriving(bytes), { snapshot: 'first', checksum: never });
    expect(await catchCause(unsealed), 'no checksum comes').to.equal('failed');
    expect(await driver.listSnapshots(B)).to.deep.equal([]);
    let isWaiting = true;
    const cut = new Readable({ read: () => undefined });
    cut.push(bytes.subarray(0, 1000));
    const resumed = hasty.receive(B, cut, { snapshot: 'cut', checksum, isWaiting: () => isWaiting });
    await new Promise(resolve => setTimeout(resolve, 1000));
    cut.push(bytes.subarray(1000));
    cut.push(null);
    isWaiting = false;
    await resumed;
    expect(await driver.listSnapshots(B), 'one that waits is not given up').to.deep.equal(['cut']);
    await driver.dropSnapshot(B, 'cut');
    await receive(bytes, { snapshot: 'first', checksum });
    expect(await driver.listSnapshots(B)).to.deep.equal(['first']);
  });
}
