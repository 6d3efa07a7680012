import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import type { VolumeDriver } from './driver.js';
import { A, B, type Lab, listTree, MIB, openEach, catchCause } from './driver-lab.testing.js';

/** What every driver does, whatever it keeps volumes in. `sizeBytes` is one that can be halved. */
export function describeDriver(choice: 'btrfs' | 'directory', sizeBytes: number): void {
  let lab: Lab;
  let driver: VolumeDriver;
  const make = openEach(choice, sizeBytes, opened => {
    lab = opened;
    ({ driver } = opened);
  });

  it('makes a volume once, and finds it as it was', async () => {
    const path = await make(A);
    writeFileSync(join(path, 'kept'), 'yes');
    expect(await driver.materialise({ id: A, sizeBytes: 2 * sizeBytes })).to.deep.equal({ id: A, sizeBytes });
    expect(readFileSync(join(await driver.mountPoint(A), 'kept'), 'utf8')).to.equal('yes');
    expect(await driver.list()).to.deep.equal([{ id: A, sizeBytes }]);
  });

  it('refuses what is no id and what is no name of a snapshot, and does not find what is not there', async () => {
    for (const id of ['', '..', '../etc', 'vol_', `${A}/../${A}`, `${A}\n`, 'net_01jx4t9mk3v8q2zr5w7y6n0rda']) {
      expect(await catchCause(driver.materialise({ id, sizeBytes })), id).to.equal('refused');
      expect(await catchCause(driver.remove(id)), id).to.equal('refused');
    }
    expect(await catchCause(driver.mountPoint(A))).to.equal('not_found');
    expect(await catchCause(driver.usage(A))).to.equal('not_found');
    await make(A);
    for (const name of ['', '.', '..', '.data', 'a/b', '-a', 'A', 'a'.repeat(64)]) {
      expect(await catchCause(driver.snapshot(A, name)), name).to.equal('refused');
    }
    expect(await catchCause(driver.send(A, 'absent'))).to.equal('not_found');
    expect(await catchCause(driver.promote(A, 'absent'))).to.equal('not_found');
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
      expect(await catchCause(driver.mountPoint(A, subPath)), subPath).to.equal('refused');
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
    expect(await catchCause(driver.resize(A, MIB))).to.equal('refused');
    expect(await catchCause(driver.resize(B, sizeBytes))).to.equal('not_found');
    expect(await driver.list()).to.deep.equal([{ id: A, sizeBytes }]);
  });

  it('makes no empty volume in the place of one whose bytes are away', async () => {
    expect(await catchCause(driver.materialise({ id: A, sizeBytes, isMade: true }))).to.equal('not_found');
    expect(await driver.list()).to.deep.equal([]);
    const path = await make(A);
    writeFileSync(join(path, 'file'), 'kept', { flush: true });
    await driver.materialise({ id: A, sizeBytes, isMade: true });
    const bytes = join(lab.root, A, choice === 'btrfs' ? 'image' : '.data');
    const away = join(lab.root, 'away');
    renameSync(bytes, away);
    await driver.recover();
    expect(await catchCause(driver.materialise({ id: A, sizeBytes, isMade: true }))).to.equal('not_found');
    renameSync(away, bytes);
    await driver.materialise({ id: A, sizeBytes, isMade: true });
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('kept');
  });

  it('does not say that a volume is removed while its bytes cannot be, and starts all the same', async () => {
    await make(A);
    const left = join(lab.root, `.deleted-${A}.1`);
    mkdirSync(left);
    writeFileSync(join(left, 'held'), '');
    const hold = (flag: string) => spawnSync('chattr', [flag, join(left, 'held')]).status === 0;
    if (!hold('+i')) throw new Error('chattr: a file that cannot be removed is needed here');
    try {
      await driver.recover();
      expect(await catchCause(driver.remove(A))).to.equal('failed');
      expect(await catchCause(driver.remove(A))).to.equal('failed');
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
    expect(await catchCause(driver.mountPoint(A))).to.equal('refused');
    expect(await catchCause(driver.materialise({ id: A, sizeBytes }))).to.equal('refused');
    expect(await catchCause(driver.remove(A))).to.equal('refused');
    expect((await driver.list())[0])
      .to.have.property('fault')
      .that.matches(/--volume-driver other/);
    writeFileSync(record, own);
    await driver.recover();
    expect(readFileSync(join(await driver.mountPoint(A), 'file'), 'utf8')).to.equal('kept');
  });

  it('tells of a volume whose record is damaged, and repairs it', async () => {
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
