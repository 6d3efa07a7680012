import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '../../clock/index.js';
import { createDirectoryDisk } from '../disk.js';
import { directoryBackend } from './directory-backend.js';
import { DiskMark } from './disk-mark.js';
import { A, B, catchCause } from './driver-lab.testing.js';
import { LocalVolumes } from './local-volumes.js';

const sizeBytes = 2 ** 20;

describe('a disk of volumes that is not mounted', () => {
  let state: string;
  let root: string;
  let away: string;
  /** How much room a volume needs beyond what it has. */
  let missing: number;
  beforeEach(() => {
    missing = 0;
    state = mkdtempSync(join(tmpdir(), 'mooring-volumes-'));
    root = join(state, 'volumes');
    away = join(state, 'away');
  });
  afterEach(() => rmSync(state, { recursive: true }));

  /** As after a start of the agent. */
  const open = async () => {
    const kept = createDirectoryDisk(state);
    const driver = new LocalVolumes({
      clock: systemClock,
      root,
      reserveBytes: 0,
      keepRemovedMs: 0,
      backend: { ...directoryBackend, countMissing: () => Promise.resolve(missing) },
      state: kept,
    });
    await driver.recover();
    return driver;
  };
  /** What is seen then is the folder that it was mounted on. */
  const unmount = () => {
    renameSync(root, away);
    mkdirSync(root);
  };
  const mount = () => {
    rmSync(root, { recursive: true });
    renameSync(away, root);
  };

  for (const restarts of [false, true]) {
    it(`is not taken for one without the volume${restarts ? ', after a start either' : ''}`, async () => {
      let driver = await open();
      await driver.materialise({ id: A, sizeBytes });
      unmount();
      if (restarts) driver = await open();
      expect(await catchCause(driver.remove(A))).to.equal('not_found');
      expect(await catchCause(driver.materialise({ id: B, sizeBytes })), 'none is made in its place').to.equal(
        'failed',
      );
      expect(readdirSync(root)).to.deep.equal([]);
      mount();
      await driver.remove(A);
      expect(await driver.list()).to.deep.equal([]);
      await driver.remove(A); // it sees that there is none
    });
  }

  it('may be mounted after the agent has started, while no volume was made', async () => {
    const driver = await open();
    await driver.remove(A);
    missing = 2 ** 60;
    expect(await catchCause(driver.materialise({ id: A, sizeBytes }))).to.equal('no_space');
    missing = 0;
    mkdirSync(away);
    mount();
    await driver.materialise({ id: A, sizeBytes });
    unmount();
    expect(await catchCause(driver.remove(A))).to.equal('not_found');
  });

  it('is told from the first one, which is empty too, and from another one', async () => {
    const driver = await open();
    await driver.materialise({ id: A, sizeBytes });
    await driver.remove(A);
    unmount();
    expect(await catchCause(driver.remove(A))).to.equal('not_found');
    renameSync(join(state, 'volume-disk.json'), join(state, 'kept'));
    await driver.materialise({ id: B, sizeBytes });
    renameSync(join(state, 'kept'), join(state, 'volume-disk.json'));
    expect(await catchCause(driver.remove(A)), 'the disk of another agent').to.equal('not_found');
    await driver.remove(B);
  });

  it('is given up by removing its mark', async () => {
    const driver = await open();
    await driver.materialise({ id: A, sizeBytes });
    unmount();
    expect(await catchCause(driver.remove(A))).to.equal('not_found');
    unlinkSync(join(state, 'volume-disk.json'));
    await driver.remove(A);
    await driver.materialise({ id: B, sizeBytes });
  });

  it('is known again when an earlier release has made what is on it', async () => {
    const earlier = new LocalVolumes({
      clock: systemClock,
      root,
      reserveBytes: 0,
      keepRemovedMs: 0,
      backend: directoryBackend,
    });
    await earlier.materialise({ id: A, sizeBytes });
    unmount();
    const driver = await open(); // this release starts for the first time, and sees no disk
    mount();
    await driver.remove(B);
    unmount();
    expect(await catchCause(driver.remove(A)), 'what it was mounted on has another mark').to.equal('not_found');
  });

  it('gets one mark when several ask for it at once', async () => {
    const kept = createDirectoryDisk(state);
    let isFirst = true;
    const write = async (name: string, text: string) => {
      const isSlow = isFirst;
      isFirst = false;
      if (isSlow) await new Promise(resolve => setTimeout(resolve, 100));
      await kept.write(name, text);
    };
    mkdirSync(root);
    const mark = new DiskMark(root, { ...kept, write });
    await Promise.all([mark.isMounted(true), mark.isMounted(true)]);
    expect(await mark.isMounted()).to.equal(true);
  });

  for (const full of ['the disk', 'the state folder']) {
    it(`gets its mark later while ${full} is full, and keeps nothing waiting`, async () => {
      const earlier = new LocalVolumes({
        clock: systemClock,
        root,
        reserveBytes: 0,
        keepRemovedMs: 0,
        backend: directoryBackend,
      });
      await earlier.materialise({ id: A, sizeBytes });
      let isFull = true;
      const place = (folder: string, name: string) => {
        const disk = createDirectoryDisk(folder);
        const write: typeof disk.write = (file, text) =>
          isFull && name === full ? Promise.reject(new Error('ENOSPC')) : disk.write(file, text);
        return { ...disk, write };
      };
      const mark = new DiskMark(root, place(state, 'the state folder'), place(root, 'the disk'));
      for (let round = 0; round < 2; round++) expect(await mark.isMounted()).to.equal(true);
      await earlier.remove(A);
      expect(await mark.isMounted(true), 'the last volume is gone, and the disk is not').to.equal(true);
      isFull = false;
      expect(await mark.isMounted(true)).to.equal(true);
      unmount();
      expect(await mark.isMounted()).to.equal(false);
    });
  }
});
