import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '../../clock/index.js';
import { createDirectoryDisk, createMemoryDisk, type Disk } from '../disk.js';
import { directoryBackend } from './directory-backend.js';
import { DiskMark } from './disk-mark.js';
import { measureRoom, VolumeRoom } from './volume-room.js';

const GIB = 2 ** 30;

describe('the room that a node has for volumes', () => {
  /** What is told after each look. */
  const follow = async (first: number, ...seen: readonly number[]) => {
    const left = [...seen];
    const room = new VolumeRoom(systemClock, first, () => Promise.resolve(left.shift()!));
    const told: number[] = [];
    for (const _ of seen) {
      await room.look(0);
      told.push(room.bytes / GIB);
    }
    return told;
  };
  const cases: readonly (readonly [string, readonly number[], readonly number[]])[] = [
    ['is not told again while little changes', [100, 99, 98.5, 99.5], [100, 100, 100]],
    ['is told when it adds up', [100, 99, 98.5, 97.5], [100, 100, 97.5]],
    ['falls at once', [100, 40], [40]],
    ['rises when it was seen twice', [100, 140, 140], [100, 140]],
    ['does not rise for a moment', [100, 140, 100], [100, 100]],
    ['is exact where there is little', [1, 0.5, 0.1], [0.5, 0.1]],
  ];
  for (const [name, [first = 0, ...seen], told] of cases) {
    it(name, async () => expect(await follow(first * GIB, ...seen.map(each => each * GIB))).to.deep.equal(told));
  }

  describe('where a size takes nothing beforehand', () => {
    const open = (state: Disk, free: () => number, isAway = false) => {
      const driver = { describe: () => ({ enforcesSize: false }) } as never;
      const measure = async (usedBytes = 0) => (isAway ? 1 : free() + usedBytes);
      return VolumeRoom.open(systemClock, { driver, state }, measure);
    };

    it('stays over a restart of the agent until what volumes hold is measured again', async () => {
      const state = createMemoryDisk();
      const first = await open(state, () => 60 * GIB);
      for (const _ of [1, 2]) await first.look(40 * GIB);
      expect(first.bytes).to.equal(100 * GIB);
      const next = await open(state, () => 60 * GIB);
      await next.look(undefined);
      expect(next.bytes).to.equal(100 * GIB);
      await next.look(5 * GIB);
      expect(next.bytes, 'what was measured counts').to.equal(65 * GIB);
    });

    it('follows the disk also while not all volumes are measured, and over a restart', async () => {
      const state = createMemoryDisk();
      let free = 60 * GIB;
      const restart = () => open(state, () => free);
      const first = await restart();
      for (const _ of [1, 2]) await first.look(40 * GIB);
      free = 10 * GIB; // others have filled it
      const next = await restart();
      expect(next.bytes).to.equal(50 * GIB);
      free = 5 * GIB;
      await next.look(undefined);
      expect(next.bytes, 'while one volume hangs').to.equal(45 * GIB);
    });

    it('is what is free when nothing, or nothing sound, was kept, and none while the disk is away', async () => {
      const state = createMemoryDisk();
      expect((await open(state, () => 60 * GIB)).bytes).to.equal(60 * GIB);
      await state.write('volume-use.json', '{"usedBytes":"much"}');
      expect((await open(state, () => 60 * GIB)).bytes).to.equal(60 * GIB);
      await state.write('volume-use.json', JSON.stringify({ usedBytes: 100 * GIB }));
      expect((await open(state, () => 60 * GIB, true)).bytes).to.equal(1);
    });
  });

  it('stays as it was while a disk fails, and ends with the agent', async () => {
    const ended = new AbortController();
    let looks = 0;
    const room = new VolumeRoom(systemClock, GIB, () => {
      looks++;
      ended.abort();
      return Promise.reject(new Error('EIO'));
    });
    await room.run(() => 0, ended.signal);
    expect([looks, room.bytes]).to.deep.equal([1, GIB]);
  });

  it('ends with the agent also while a disk hangs', async () => {
    const ended = new AbortController();
    const room = new VolumeRoom(systemClock, GIB, () => {
      setImmediate(() => ended.abort());
      return new Promise(() => undefined);
    });
    await room.run(() => 0, ended.signal);
    expect(room.bytes).to.equal(GIB);
  });

  describe('on a disk', () => {
    let stateDir: string;
    beforeEach(() => {
      stateDir = mkdtempSync(join(tmpdir(), 'mooring-room-'));
    });
    afterEach(() => rmSync(stateDir, { recursive: true }));

    const measure = (enforcesSize: boolean, usedBytes: number) => {
      const driver = {
        describe: () => ({ ...directoryBackend.limits, enforcesSize }),
        list: () => Promise.resolve([{ id: 'vol_1', sizeBytes: 1000 * GIB }]),
      };
      const state = createDirectoryDisk(stateDir);
      return measureRoom({ driver, root: join(stateDir, 'volumes'), stateDir, state, reserveBytes: 0 }, usedBytes);
    };

    it('counts what volumes have taken, which the control plane subtracts', async () => {
      const { blocks, bsize } = await statfs(stateDir);
      const size = blocks * bsize;
      expect(await measure(true, 0)).to.be.within(1000 * GIB, 1000 * GIB + size);
      expect(await measure(false, 500 * GIB), 'what is in them, where a size takes nothing').to.be.within(
        500 * GIB,
        500 * GIB + size,
      );
    });

    it('is none while the disk of the volumes is not mounted', async () => {
      const root = join(stateDir, 'volumes');
      mkdirSync(root);
      const mark = new DiskMark(root, createDirectoryDisk(stateDir));
      expect(await mark.isMounted(true)).to.equal(true);
      expect(await measure(true, 0)).to.be.above(1);
      rmSync(root, { recursive: true });
      mkdirSync(root);
      expect(await measure(true, 0)).to.equal(1);
    });
  });
});
