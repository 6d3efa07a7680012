import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../../dev/testing/index.js';
import { systemClock } from '../../clock/index.js';
import type { Backend } from './backend.js';
import { directoryBackend } from './directory-backend.js';
import { A, B } from './driver-lab.testing.js';
import { LocalVolumes } from './local-volumes.js';

const SIZE = 2 ** 20;
const never = new Promise<never>(() => undefined);

describe('volumes beside one that takes long', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'mooring-volumes-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const open = (change: Partial<Backend>) =>
    new LocalVolumes({
      clock: systemClock,
      root,
      reserveBytes: 0,
      keepRemovedMs: 0,
      backend: { ...directoryBackend, ...change },
    });
  /** The kernel never answers for A. */
  const settle: Backend['settle'] = (folder, size) =>
    folder.endsWith(A) ? never : directoryBackend.settle(folder, size);
  const isOpen = (promise: Promise<unknown>) =>
    Promise.race([promise.then(() => false), new Promise(resolve => setTimeout(resolve, 100, true))]);

  it('are used between the steps of a shrink', async () => {
    const GIB = 2 ** 30;
    const ends: (() => void)[] = [];
    let last = 0;
    const driver = open({
      limits: { ...directoryBackend.limits, enforcesSize: true },
      async settle(folder, size) {
        const isShrink = size < last;
        last = size;
        if (isShrink) await new Promise<void>(resolve => ends.push(resolve));
        await directoryBackend.settle(folder, size);
      },
    });
    await driver.materialise({ id: A, sizeBytes: 12 * GIB });
    const sizes: number[] = [];
    const shrunk = (async () => {
      do sizes.push((await driver.resize(A, 2 * GIB)).sizeBytes);
      while (sizes.at(-1)! > 2 * GIB);
    })();
    for (let step = 1; step <= 3; step++) {
      await until(`step ${step}`, () => ends.length === step);
      const mounted = driver.mountPoint(A);
      ends[step - 1]!();
      expect(await mounted).to.contain(A);
    }
    await shrunk;
    expect(sizes).to.deep.equal([8 * GIB, 4 * GIB, 2 * GIB]);
    expect(await driver.list()).to.deep.equal([{ id: A, sizeBytes: 2 * GIB }]);
  });

  it('are made, mounted and removed all the same', async () => {
    const driver = open({ settle });
    const hung = driver.materialise({ id: A, sizeBytes: SIZE });
    for (let round = 0; round < 2; round++) await driver.materialise({ id: B, sizeBytes: SIZE });
    expect(await driver.mountPoint(B)).to.contain(B);
    await driver.remove(B);
    expect(await isOpen(hung)).to.equal(true);
  });

  it('come back after a restart, and the one that hangs comes last', async () => {
    const before = open({});
    for (const id of [A, B]) await before.materialise({ id, sizeBytes: SIZE });
    const driver = open({ settle });
    const recovery = driver.recover();
    await driver.materialise({ id: B, sizeBytes: SIZE });
    expect(await driver.mountPoint(B)).to.contain(B);
    expect(await isOpen(recovery)).to.equal(true);
  });

  it('do not wait for ever for a device that cannot be given back', async () => {
    const fire: (() => void)[] = [];
    const clock = { ...systemClock, after: (_: number, each: () => void) => (fire.push(each), () => undefined) };
    const driver = new LocalVolumes({
      clock,
      root,
      reserveBytes: 0,
      keepRemovedMs: 0,
      backend: { ...directoryBackend, recover: () => never },
    });
    const made = driver.materialise({ id: B, sizeBytes: SIZE });
    expect(await isOpen(made)).to.equal(true);
    for (const each of fire) each();
    await made;
  });

  it('are tried again when their folder could not be made', async () => {
    rmSync(root, { recursive: true });
    writeFileSync(root, 'a file is in the way');
    const driver = open({});
    let refused = false;
    await driver.materialise({ id: B, sizeBytes: SIZE }).catch(() => (refused = true));
    expect(refused).to.equal(true);
    rmSync(root);
    mkdirSync(root);
    await driver.materialise({ id: B, sizeBytes: SIZE });
  });

  it('are not touched before they are asked for: another agent may be at work on them', async () => {
    let calls = 0;
    const driver = open({ recover: async () => void calls++ });
    await driver.list();
    expect(calls).to.equal(0);
    await driver.materialise({ id: B, sizeBytes: SIZE });
    await driver.remove(B);
    expect(calls).to.equal(1);
  });
});
