import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { skip, toScriptArguments } from '../../../dev/testing/index.js';
import { type Clock, systemClock } from '../../clock/index.js';
import { createMemoryDisk } from '../disk.js';
import { restoreRemoved } from '../node-volumes/restore-removed.js';
import { A, B, catchCause, MIB } from './driver-lab.testing.js';
import type { LocalVolumes } from './local-volumes.js';
import { listLoopDevices, listMounts } from './mounts.js';
import { openVolumeDriver } from './open-driver.js';
import { measureRoom } from './volume-room.js';

const C = A.replace(/a$/, 'c');
const HOUR = 3_600_000;
const KEPT = 24 * HOUR;
const ABOUT = { volume: 'data', replication: { epoch: 3, generationId: '0123456789abcdef', role: 'replica' } } as const;

/** How a script loads a module that is named as from here. */
const load = (path: string) => `await import(${JSON.stringify(new URL(path, import.meta.url).href)})`;

const SCRIPT = `
  const [choice, root, keepRemovedMs, A] = JSON.parse(process.argv[1]);
  const { openVolumeDriver } = ${load('./index.js')};
  const { systemClock } = ${load('../../clock/index.js')};
  const driver = await openVolumeDriver(choice, { clock: systemClock, root, reserveBytes: 0, keepRemovedMs });
  await driver.recover();
`;

/** What becomes of the bytes of removed volumes. */
export function describeKeptVolumes(choice: 'btrfs' | 'directory', sizeBytes: number): void {
  let state: string;
  let root: string;
  let driver: LocalVolumes;
  const open = async (clock: Clock = systemClock, keepRemovedMs = KEPT) => {
    driver = await openVolumeDriver(choice, { clock, root, reserveBytes: 0, keepRemovedMs });
    await driver.recover();
  };
  beforeEach(async () => {
    state = mkdtempSync(join(tmpdir(), 'mooring-removed-'));
    root = join(state, 'volumes');
    await open();
  });
  afterEach(async () => {
    for (const { id } of await driver.list()) await driver.remove(id);
    rmSync(state, { recursive: true, force: true });
  });

  const make = async (id: string, text: string) => {
    await driver.materialise({ id, sizeBytes });
    writeFileSync(join(await driver.mountPoint(id), 'file'), text, { flush: true });
    await driver.snapshot(id, 'first');
  };
  const read = async (id: string) => readFileSync(join(await driver.mountPoint(id), 'file'), 'utf8');
  const names = () => driver.removed.reported.map(({ name }) => name);

  it('are out of the way, unmounted and detached, and are reported', async () => {
    await make(A, 'kept');
    await driver.mountPoint(A, 'a/b');
    await driver.remove(A, ABOUT);
    await driver.remove(A, ABOUT);
    expect(await driver.list()).to.deep.equal([]);
    expect(readdirSync(root)).to.deep.equal([`.removed-${A}.1`]);
    expect((await listMounts()).filter(({ path }) => path.startsWith(root))).to.deep.equal([]);
    expect((await listLoopDevices()).filter(({ file }) => file.startsWith(root))).to.deep.equal([]);
    const [reported] = driver.removed.reported;
    expect(reported).to.include({ name: `${A}.1`, volume: 'data' });
    expect(reported!.bytes).to.be.within(4096, 2 * sizeBytes);
    expect(await driver.removed.countBytes()).to.equal(reported!.bytes);
  });

  it('come back with everything, and with what was known of them, in the place that they had', async () => {
    await make(A, 'kept');
    await driver.remove(A, ABOUT);
    const record = join(state, `replication-${A}.json`);
    writeFileSync(record, JSON.stringify({ ...ABOUT.replication, epoch: 4 }));
    const outcome = await restoreRemoved(state, `${A}.1`).catch((thrown: Error) => thrown.message);
    expect(outcome).to.match(/another copy.*start it/);
    writeFileSync(record, JSON.stringify(ABOUT.replication)); // as one that was killed in between leaves it
    await restoreRemoved(state, `${A}.1`);
    expect(JSON.parse(readFileSync(record, 'utf8'))).to.deep.equal(ABOUT.replication);
    await open();
    expect(names()).to.deep.equal([]);
    await driver.materialise({ id: A, sizeBytes, isMade: true });
    expect([await read(A), await driver.listSnapshots(A)]).to.deep.equal(['kept', ['first']]);
  });

  it('are not taken for a copy that is made again, which does not take theirs', async () => {
    await make(A, 'old');
    await driver.remove(A, ABOUT);
    await driver.materialise({ id: A, sizeBytes });
    expect([await driver.isEmpty(A), await driver.listSnapshots(A)]).to.deep.equal([true, []]);
    writeFileSync(join(await driver.mountPoint(A), 'file'), 'new');
    const outcome = await restoreRemoved(state, `${A}.1`).catch((thrown: Error) => thrown.message);
    expect(outcome).to.match(/already, as another copy/);
    expect(existsSync(join(state, `replication-${A}.json`))).to.equal(false);

    await driver.remove(A);
    expect(names()).to.have.members([`${A}.1`, `${A}.2`]);
    await restoreRemoved(state, `${A}.1`);
    await open();
    expect([await read(A), names()]).to.deep.equal(['old', [`${A}.2`]]);
  });

  it('are deleted when they were kept for the time, of which every agent counts its part', async () => {
    await make(A, 'kept');
    await driver.remove(A, ABOUT);
    await driver.removed.age(HOUR);
    await make(B, 'later');
    await driver.remove(B, ABOUT);
    await open();
    await driver.removed.age(KEPT - HOUR - 1);
    expect(names(), 'the oldest first').to.deep.equal([`${A}.1`, `${B}.1`]);
    await driver.removed.age(1);
    expect([names(), readdirSync(root)]).to.deep.equal([[`${B}.1`], [`.removed-${B}.1`]]);
    await driver.removed.age(HOUR);
    expect(readdirSync(root)).to.deep.equal([]);
  });

  it('stay whatever the clock of the machine says', async () => {
    await make(A, 'kept');
    await driver.remove(A, ABOUT);
    for (const [round, now] of [400 * KEPT, 0].entries()) {
      await open({ ...systemClock, now: () => now, monotonic: () => 400 * KEPT });
      expect(driver.removed.reported[0]).to.include({ until: now + KEPT - round * 60_000 });
      await driver.removed.age(60_000);
      expect(names()).to.deep.equal([`${A}.1`]);
    }
  });

  it('are kept for the whole time again when they were back meanwhile', async () => {
    await make(A, 'kept');
    await driver.remove(A, ABOUT);
    await driver.removed.age(KEPT - 1);
    await restoreRemoved(state, `${A}.1`);
    await open();
    expect(await read(A)).to.equal('kept');
    await driver.remove(A, ABOUT);
    await driver.removed.age(KEPT - 1);
    expect(names()).to.deep.equal([`${A}.1`]);
  });

  it('are deleted at once where the time is none, also those of before', async () => {
    await make(A, 'kept');
    await driver.remove(A, ABOUT);
    await open(systemClock, 0);
    await make(B, 'gone');
    await driver.remove(B, ABOUT);
    expect(readdirSync(root)).to.deep.equal([`.removed-${A}.1`]);
    await driver.removed.age(1);
    expect(readdirSync(root)).to.deep.equal([]);
  });

  it('count from the beginning when their note cannot be read, and come back without it', async () => {
    await make(A, 'kept');
    await driver.remove(A, ABOUT);
    await driver.removed.age(KEPT - 1);
    writeFileSync(join(root, `.removed-${A}.1`, 'removed.json'), '{"keptMs":');
    await driver.removed.age(KEPT - 1);
    expect(names()).to.deep.equal([`${A}.1`]);
    await restoreRemoved(state, `${A}.1`);
    await open();
    expect([await read(A), existsSync(join(state, `replication-${A}.json`))]).to.deep.equal(['kept', false]);
  });

  it('are refused under names that are none, and while the agent runs', async () => {
    await make(A, 'kept');
    await driver.remove(A, ABOUT);
    const refuse = (name: string, processes?: Parameters<typeof restoreRemoved>[2]) =>
      restoreRemoved(state, name, processes).then(
        () => 'restored',
        (thrown: Error) => thrown.message,
      );
    for (const name of [A, `${A}.2`, '..', `../${A}.1`, `${A}.1/..`, ''])
      expect(await refuse(name), name).to.include(`these are: ${A}.1`);
    writeFileSync(join(state, 'runs.json'), JSON.stringify([{ id: '0'.repeat(16), boot: 'now', process: '7:1' }]));
    const processes = { boot: 'now', self: '8:1', isRunning: (name: string) => name === '7:1' };
    expect(await refuse(`${A}.1`, processes)).to.match(/runs: stop it/);
    expect(await refuse(`${A}.1`, { ...processes, isRunning: () => false })).to.equal('restored');
  });

  describe('when the agent is killed', () => {
    const killAt = (point: string, call: string) => {
      const words = JSON.stringify([choice, root, KEPT, A]);
      const { signal, stderr } = spawnSync(process.execPath, toScriptArguments(`${SCRIPT} ${call}`, words), {
        encoding: 'utf8',
        env: { ...process.env, MOORING_FAILPOINTS: `${point}=kill` },
      });
      expect(signal, stderr).to.equal('SIGKILL');
    };

    for (const point of ['volume.released', 'volume.removed']) {
      it(`are kept once, whole, after ${point}`, async () => {
        await make(A, 'kept');
        killAt(point, `await driver.remove(A, ${JSON.stringify(ABOUT)});`);
        await open();
        await driver.remove(A, ABOUT);
        expect(names()).to.deep.equal([`${A}.1`]);
        expect(driver.removed.reported[0]).to.include({ volume: 'data' });
        await restoreRemoved(state, `${A}.1`);
        await open();
        expect([await read(A), await driver.listSnapshots(A)]).to.deep.equal(['kept', ['first']]);
      });
    }

    it('are not brought back half deleted, after volume.deleting', async () => {
      await make(A, 'kept');
      await driver.remove(A, ABOUT);
      killAt('volume.deleting', `await driver.removed.age(${KEPT});`);
      expect(readdirSync(root)).to.deep.equal([`.deleted-${A}.1`]);
      const outcome = await restoreRemoved(state, `${A}.1`).catch((thrown: Error) => thrown.message);
      expect(outcome).to.match(/no removed volume/);
      await open();
      expect(readdirSync(root)).to.deep.equal([]);
    });
  });

  describe('on a small disk', () => {
    const RESERVE = 16 * MIB;
    let isMounted = false;
    beforeEach(async function () {
      const size = `size=${RESERVE + 3 * sizeBytes + 4 * MIB}`;
      isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', state]).status === 0;
      if (!isMounted) {
        skip(this, 'no file system can be mounted here: run the tests with CAP_SYS_ADMIN');
      }
      driver = await openVolumeDriver(choice, {
        clock: systemClock,
        root,
        reserveBytes: RESERVE,
        keepRemovedMs: KEPT,
      });
    });
    afterEach(async () => {
      for (const { id } of await driver.list()) await driver.remove(id);
      if (isMounted) spawnSync('umount', [state]);
    });

    /** Takes its size of the disk, whatever the driver. */
    const fill = async (id: string) => {
      await driver.materialise({ id, sizeBytes });
      if (choice === 'btrfs') return;
      writeFileSync(join(await driver.mountPoint(id), 'file'), Buffer.alloc(sizeBytes - MIB));
    };
    const room = () => measureRoom({ driver, root, stateDir: state, state: createMemoryDisk(), reserveBytes: RESERVE });

    it('count as room', async () => {
      const before = await room();
      await fill(A);
      await driver.remove(A);
      expect(Math.abs((await room()) - before)).to.be.at.most(MIB);
    });

    if (choice === 'btrfs') {
      it('make way for what is made or grows, the oldest first, and no more than is needed', async () => {
        await fill(A);
        await driver.remove(A);
        await driver.removed.age(1);
        await fill(B);
        await driver.remove(B);
        await fill(C);
        expect(names(), 'there is room').to.deep.equal([`${A}.1`, `${B}.1`]);
        const tooMuch = driver.materialise({ id: A, sizeBytes: 3 * sizeBytes });
        expect(await catchCause(tooMuch)).to.equal('no_space');
        await driver.removed.look();
        expect(names(), 'it would not have been enough').to.deep.equal([`${A}.1`, `${B}.1`]);

        await fill(A);
        await driver.removed.look();
        expect(names(), 'for one that is made').to.deep.equal([`${B}.1`]);
        await driver.resize(A, 2 * sizeBytes);
        await driver.removed.look();
        expect(names(), 'for one that grows').to.deep.equal([]);
      });
    } else {
      it('make way for what workloads write, the oldest first, once the reserve is touched', async () => {
        await fill(A);
        await driver.remove(A);
        await driver.removed.age(1);
        await fill(B);
        await driver.remove(B);
        await fill(C);
        await driver.removed.age(1);
        expect(names(), 'there is room').to.deep.equal([`${A}.1`, `${B}.1`]);
        writeFileSync(join(await driver.mountPoint(C), 'more'), Buffer.alloc(12 * MIB));
        await driver.removed.age(1);
        expect(names()).to.deep.equal([`${B}.1`]);
      });

      it('are removed also while the disk is full', async () => {
        await fill(B);
        await driver.remove(B);
        await driver.materialise({ id: A, sizeBytes });
        const path = join(await driver.mountPoint(A), 'file');
        try {
          for (;;) writeFileSync(path, Buffer.alloc(MIB), { flag: 'a' });
        } catch (thrown) {
          expect((thrown as NodeJS.ErrnoException).code).to.equal('ENOSPC');
        }
        await driver.remove(A, ABOUT);
        expect(names()).to.have.members([`${A}.1`, `${B}.1`]);
        await driver.removed.age(1);
        expect(names(), 'one was enough').to.have.length(1);
      });
    }
  });
}
