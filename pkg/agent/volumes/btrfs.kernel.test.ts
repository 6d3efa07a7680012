import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { expect } from 'chai';

import { itDeep, sampleCases, skip } from '../../../dev/testing/index.js';
import { systemClock } from '../../clock/index.js';
import { sealCommand } from './btrfs-stream.js';
import { type CrashedCall, describeCrashes } from './crashes.contract.js';
import { describeDriver } from './driver.contract.js';
import { A, arriving, B, type Lab, listTree, MIB, openLab, catchCause } from './driver-lab.testing.js';
import { listLoopDevices, listMounts } from './mounts.js';
import { explainNoBtrfs, openVolumeDriver } from './open-driver.js';
import { describeKeptVolumes } from './removed.contract.js';
import { describeSnapshots } from './snapshots.contract.js';
import { StreamChecksum } from './stream-checksum.js';

const missing = await explainNoBtrfs();

/** A command of a stream, with attributes by their numbers. */
function toCommand(number: number, attributes: readonly (readonly [number: number, value: string | Buffer])[]): Buffer {
  const parts = attributes.map(([name, value]) => {
    const bytes = Buffer.from(value as string, 'latin1');
    const head = Buffer.alloc(4);
    head.writeUInt16LE(name, 0);
    head.writeUInt16LE(bytes.length, 2);
    return Buffer.concat([head, bytes]);
  });
  const command = Buffer.concat([Buffer.alloc(10), ...parts]);
  command.writeUInt32LE(command.length - 10, 0);
  command.writeUInt16LE(number, 4);
  return sealCommand(command);
}

const zeros = (count: number) => Buffer.alloc(count);
const MAGIC = Buffer.from('btrfs-stream\0\u0001\0\0\0', 'latin1');
const SUBVOLUME = toCommand(1, [
  [15, 'any'],
  [1, Buffer.alloc(16, 7)],
  [2, zeros(8)],
]);
const END = toCommand(21, []);
const makeFile = (path: string) =>
  toCommand(3, [
    [15, path],
    [3, zeros(8)],
  ]);
const makeLink = (path: string, to: string) =>
  toCommand(8, [
    [15, path],
    [3, zeros(8)],
    [17, to],
  ]);
const write = (path: string) =>
  toCommand(15, [
    [15, path],
    [18, zeros(8)],
    [19, 'harm'],
  ]);
const move = (path: string, to: string) =>
  toCommand(9, [
    [15, path],
    [16, to],
  ]);

/** Writes until there is no space; answers how much there was. */
function fill(path: string): number {
  const file = openSync(path, 'w');
  const block = zeros(MIB).fill(1);
  try {
    for (let written = 0; ; written += MIB) {
      try {
        writeSync(file, block);
        fsyncSync(file);
      } catch (thrown) {
        expect((thrown as NodeJS.ErrnoException).code).to.equal('ENOSPC');
        return written;
      }
    }
  } finally {
    closeSync(file);
  }
}

describe('the btrfs driver', () => {
  before(function () {
    if (missing !== undefined) skip(this, missing);
  });

  describe('and volumes', () => describeDriver('btrfs', 512 * MIB));

  describe('and snapshots', () => describeSnapshots('btrfs', 512 * MIB));

  describe('and removed volumes, which', () => describeKeptVolumes('btrfs', 128 * MIB));

  const kills: Readonly<Record<string, CrashedCall>> = {
    'volume.recorded': 'materialise',
    'volume.formatted': 'materialise',
    'volume.attached': 'materialise',
    'volume.resizing': 'grow',
    'volume.image_grown': 'grow',
    'volume.shrunk': 'shrink',
    'volume.resized': 'shrink',
    'volume.received': 'receive',
    'volume.accepted': 'receive',
    'volume.promoting': 'promote',
    'volume.swapping': 'promote',
    'volume.released': 'remove',
    'volume.removed': 'remove',
    'volume.deleting': 'remove',
  };

  describe('and a kill', () =>
    describeCrashes('btrfs', 512 * MIB, Object.fromEntries(sampleCases(6, Object.entries(kills)))));

  describe('and the disk of the machine', () => {
    let lab: Lab;
    beforeEach(async () => {
      lab = await openLab('btrfs');
    });
    afterEach(() => lab.close());

    const mountsBelow = async () => (await listMounts()).filter(({ path }) => path.startsWith(`${lab.root}/`));
    const devicesBelow = async () => (await listLoopDevices()).filter(({ file }) => file.startsWith(`${lab.root}/`));

    it('gives a workload ENOSPC, takes no more of the machine than before, and goes on when there is room', async () => {
      const { sizeBytes } = await lab.driver.materialise({ id: A, sizeBytes: 1 });
      expect(sizeBytes).to.equal(lab.driver.describe().minSizeBytes);
      const path = await lab.driver.mountPoint(A);
      const taken = () => statSync(join(lab.root, A, 'image')).blocks * 512;
      expect(taken()).to.be.at.least(sizeBytes);
      const before = taken();
      expect(fill(join(path, 'file'))).to.be.at.least(sizeBytes * 0.7);
      expect(taken()).to.equal(before);
      expect((await lab.driver.usage(A)).usedBytes).to.be.within(sizeBytes * 0.7, sizeBytes);
      await lab.driver.resize(A, 512 * MIB);
      writeFileSync(join(path, 'more'), zeros(200 * MIB), { flush: true });
      expect(await catchCause(lab.driver.resize(A, 256 * MIB))).to.equal('refused');
      rmSync(join(path, 'file'));
      rmSync(join(path, 'more'));
      writeFileSync(join(path, 'again'), zeros(200 * MIB), { flush: true });
      expect(taken(), 'what is removed stays the volume’s').to.be.at.least(512 * MIB);
    });

    for (const sizeBytes of sampleCases(2, [128 * MIB, 1024 * MIB])) {
      it(`can be written to again after ${sizeBytes / MIB} MiB were full and files are removed`, async () => {
        await lab.driver.materialise({ id: A, sizeBytes });
        const path = await lab.driver.mountPoint(A);
        for (let round = 0; round < 2; round++) {
          fill(join(path, 'file'));
          const { usedBytes } = await lab.driver.usage(A);
          expect(usedBytes / sizeBytes, 'what is full is measured as full').to.be.within(0.97, 1);
          rmSync(join(path, 'file'));
          spawnSync('sync', ['--file-system', path]);
          for (let file = 0; file < 100; file++) writeFileSync(join(path, `${round}-${file}`), 'more', { flush: true });
        }
      });
    }

    it('gives a sign of what nobody has flushed also where files and their names have space of their own', async () => {
      await lab.driver.materialise({ id: A, sizeBytes: 1024 * MIB });
      const file = join(await lab.driver.mountPoint(A), 'file');
      writeFileSync(file, 'one', { flush: true });
      spawnSync('sync', ['--file-system', file]);
      const before = await lab.driver.changeMark(A);
      appendFileSync(file, ' two');
      expect(await lab.driver.changeMark(A))
        .to.be.a('string')
        .and.not.to.equal(before);
    });

    it('gives no sign of one that was removed and that a container still holds, when it is made again', async () => {
      const make = async () => {
        await lab.driver.materialise({ id: A, sizeBytes: 128 * MIB });
        return lab.driver.mountPoint(A);
      };
      const write = (path: string, text: string) => {
        writeFileSync(join(path, 'file'), text, { flush: true });
        spawnSync('sync', ['--file-system', path]);
      };
      const old = await make();
      write(old, 'one');
      await lab.driver.changeMark(A);
      const holding = ['--mount', '--propagation', 'private', 'sh', '-c', 'cd "$0" && echo held && exec cat', old];
      const container = spawn('unshare', holding);
      try {
        await once(container.stdout, 'data');
        await lab.driver.remove(A);
        const path = await make();
        const before = await lab.driver.changeMark(A);
        write(path, 'two');
        expect(await lab.driver.changeMark(A))
          .to.be.a('string')
          .and.not.to.equal(before);
      } finally {
        container.kill();
        await once(container, 'close');
      }
    });

    itDeep('can be written to when it was full, was grown and was full again', async () => {
      await lab.driver.materialise({ id: A, sizeBytes: 1024 * MIB });
      const path = await lab.driver.mountPoint(A);
      fill(join(path, 'first'));
      await lab.driver.resize(A, 1280 * MIB);
      expect(fill(join(path, 'second'))).to.be.at.least(200 * MIB);
      for (const name of ['first', 'second']) rmSync(join(path, name));
      spawnSync('sync', ['--file-system', path]);
      for (let file = 0; file < 100; file++) writeFileSync(join(path, `${file}`), 'more', { flush: true });
    });

    it('takes back a shrink that the kernel cannot make', async () => {
      await lab.driver.materialise({ id: A, sizeBytes: 400 * MIB });
      const path = await lab.driver.mountPoint(A);
      writeFileSync(join(path, 'file'), zeros(255 * MIB), { flush: true });
      expect(await catchCause(lab.driver.resize(A, 256 * MIB))).to.equal('refused');
      expect(await lab.driver.list()).to.deep.equal([{ id: A, sizeBytes: 400 * MIB }]);
      writeFileSync(join(path, 'more'), zeros(60 * MIB), { flush: true });
    });

    it('refuses a volume that would not leave the reserve, and leaves nothing of it', async () => {
      const strict = await openLab('btrfs', 2 ** 60);
      expect(await catchCause(strict.driver.materialise({ id: A, sizeBytes: MIB }))).to.equal('no_space');
      expect(await strict.driver.list()).to.deep.equal([]);
      await strict.close();
    });

    it('keeps the reserve also of a volume that a killed process has begun', async () => {
      const strict = await openLab('btrfs', 2 ** 60);
      mkdirSync(join(strict.root, A));
      writeFileSync(join(strict.root, A, 'volume.json'), JSON.stringify({ driver: 'btrfs', sizeBytes: 128 * MIB }));
      expect(await catchCause(strict.driver.materialise({ id: A, sizeBytes: MIB }))).to.equal('no_space');
      expect(readdirSync(join(strict.root, A))).to.deep.equal(['volume.json']);
      await strict.driver.remove(A);
      await strict.close();
    });

    it('takes no space beyond the reserve for a growth that a killed process has begun', async () => {
      await lab.driver.materialise({ id: A, sizeBytes: MIB });
      writeFileSync(
        join(lab.root, A, 'volume.json'),
        JSON.stringify({ driver: 'btrfs', sizeBytes: 256 * MIB, from: 128 * MIB }),
      );
      const strict = await openVolumeDriver('btrfs', {
        clock: systemClock,
        root: lab.root,
        reserveBytes: 2 ** 60,
        keepRemovedMs: 0,
      });
      await strict.recover();
      expect(await strict.list()).to.deep.equal([{ id: A, sizeBytes: 128 * MIB }]);
      expect(statSync(join(lab.root, A, 'image')).size).to.equal(128 * MIB);
    });

    it('removes what a workload has made inside of its volume, and takes no copy that would not have all of it', async () => {
      await lab.driver.materialise({ id: A, sizeBytes: MIB });
      const nest = async () => {
        const path = await lab.driver.mountPoint(A);
        const made = [
          ['subvolume', 'create', join(path, 'outer')],
          ['subvolume', 'create', join(path, 'outer/in\nner')],
          ['property', 'set', '-t', 'subvol', join(path, 'outer'), 'ro', 'true'],
        ].map(words => spawnSync('btrfs', words).status);
        expect(made).to.deep.equal([0, 0, 0]);
      };
      await lab.driver.snapshot(A, 'first');
      await nest();
      expect(await catchCause(lab.driver.snapshot(A, 'second'))).to.equal('refused');
      await lab.driver.promote(A, 'first');
      expect(readdirSync(await lab.driver.mountPoint(A))).to.deep.equal([]);
      expect(readdirSync(join(lab.root, A, 'store')).sort()).to.deep.equal(['.data', 'first']);
      await lab.driver.snapshot(A, 'second');
      await nest();
      await lab.driver.moveAside(A, 'aside');
      expect(readdirSync(join(lab.root, A, 'store/aside/outer'))).to.deep.equal(['in\nner']);
      await lab.driver.dropSnapshot(A, 'aside');
      expect(await lab.driver.listSnapshots(A)).to.deep.equal(['first', 'second']);
      await nest();
      await lab.driver.remove(A);
    });

    it('mounts volumes again after a reboot', async () => {
      await lab.driver.materialise({ id: A, sizeBytes: MIB });
      const path = await lab.driver.mountPoint(A);
      writeFileSync(join(path, 'file'), 'kept', { flush: true });
      await lab.driver.mountPoint(A, 'folder');
      for (const mount of [...(await mountsBelow())].reverse()) spawnSync('umount', [mount.path]);
      for (const { device } of await devicesBelow()) spawnSync('losetup', ['--detach', device]);
      expect(await catchCause(lab.driver.mountPoint(A)), 'nothing is written below a mount').to.equal('failed');
      await lab.driver.recover();
      expect(readFileSync(join(await lab.driver.mountPoint(A), 'file'), 'utf8')).to.equal('kept');
    });

    it('keeps no mount and no device of a volume that is gone', async () => {
      for (const id of [A, B]) await lab.driver.materialise({ id, sizeBytes: MIB });
      await lab.driver.mountPoint(A, 'a/b');
      await lab.driver.remove(A);
      for (const mount of [...(await mountsBelow())].reverse()) spawnSync('umount', [mount.path]);
      rmSync(join(lab.root, B), { recursive: true });
      expect(await devicesBelow()).to.have.length(1);
      await lab.driver.recover();
      expect([await mountsBelow(), await devicesBelow()]).to.deep.equal([[], []]);
    });

    it('tells of a volume whose image is damaged, and brings the others back', async () => {
      for (const id of [A, B]) await lab.driver.materialise({ id, sizeBytes: MIB });
      for (const mount of [...(await mountsBelow())].reverse()) spawnSync('umount', [mount.path]);
      for (const { device } of await devicesBelow()) spawnSync('losetup', ['--detach', device]);
      writeFileSync(join(lab.root, A, 'image'), zeros(128 * MIB));
      await lab.driver.recover();
      const [damaged, other] = await lab.driver.list();
      expect(damaged)
        .to.have.property('fault')
        .that.matches(/^mount failed: .*; /);
      expect(other).to.deep.equal({ id: B, sizeBytes: 128 * MIB });
    });

    it('mounts a folder that was checked, whatever takes its place later', async () => {
      await lab.driver.materialise({ id: A, sizeBytes: MIB });
      const path = await lab.driver.mountPoint(A);
      const pinned = await lab.driver.mountPoint(A, 'folder');
      spawnSync('mv', [join(path, 'folder'), join(path, 'moved')]);
      spawnSync('ln', ['-s', '/etc', join(path, 'folder')]);
      writeFileSync(join(pinned, 'file'), 'inside');
      expect(readFileSync(join(path, 'moved/file'), 'utf8')).to.equal('inside');
      expect(await catchCause(lab.driver.mountPoint(A, 'folder'))).to.equal('refused');
    });
  });

  describe('and streams that were made to do harm', () => {
    let lab: Lab;
    let outside: string;
    beforeEach(async () => {
      lab = await openLab('btrfs');
      outside = join(lab.root, '../outside');
      writeFileSync(outside, 'outside');
      await lab.driver.materialise({ id: A, sizeBytes: MIB });
      writeFileSync(join(await lab.driver.mountPoint(A), 'file'), 'inside', { flush: true });
      await lab.driver.snapshot(A, 'kept');
    });
    afterEach(() => lab.close());

    const receive = (bytes: Buffer) => {
      const checksum = new StreamChecksum().add(bytes).toHex();
      return lab.driver.receive(A, arriving(bytes, 11), { snapshot: 'new', checksum });
    };
    const toStream = (...commands: readonly Buffer[]) => Buffer.concat([MAGIC, SUBVOLUME, ...commands, END]);
    const up = '../../../outside';

    const hostile: Readonly<Record<string, () => Buffer>> = {
      'a file outside': () => toStream(makeFile(up)),
      'a write outside': () => toStream(write(up)),
      'an absolute path': () => toStream(makeFile('/etc/mooring-outside')),
      'a move to the outside': () => toStream(makeFile('a'), move('a', up)),
      'a move from the outside': () => toStream(move('../kept', 'a')),
      'a hard link to the outside': () =>
        toStream(
          toCommand(10, [
            [15, 'a'],
            [17, up],
          ]),
        ),
      'a write over a symbolic link': () => toStream(makeLink('l', outside), write('l')),
      'a file over a symbolic link': () => toStream(makeLink('l', join(outside, '..')), makeFile('l/mooring-x')),
      'a write to the volume over a symbolic link': () => toStream(makeLink('l', '../.data'), write('l/file')),
      'a snapshot moved over a symbolic link': () => toStream(makeLink('l', '..'), move('l/kept', 'l/gone')),
      'a device': () =>
        toStream(
          toCommand(5, [
            [15, 'a'],
            [3, zeros(8)],
            [8, Buffer.from([1, 3, 0, 0, 0, 0, 0, 0])],
            [5, Buffer.from([0, 0x61, 0, 0, 0, 0, 0, 0])],
          ]),
        ),
      'a second subvolume': () => toStream(SUBVOLUME),
      'a subvolume without a name': () => Buffer.concat([MAGIC, toCommand(1, [[1, zeros(16)]]), END]),
      'a command that is not known': () => toStream(toCommand(25, [[15, 'a']])),
      'a command that is too long': () => Buffer.concat([MAGIC, Buffer.from([255, 255, 255, 127, 1, 0, 0, 0, 0, 0])]),
      'an attribute that is too long': () =>
        toStream(sealCommand(Buffer.from([4, 0, 0, 0, 3, 0, 0, 0, 0, 0, 15, 0, 9, 0]))),
      'a later version': () => Buffer.concat([Buffer.from('btrfs-stream\0\u0002\0\0\0', 'latin1'), SUBVOLUME, END]),
      'no end': () => toStream(makeFile('a')).subarray(0, -10),
    };
    for (const [name, make] of Object.entries(hostile)) {
      it(`refuses ${name}, and nothing is written`, async () => {
        const store = join(lab.root, A, 'store');
        const before = listTree(store);
        expect(await catchCause(receive(make()))).to.be.oneOf(['bad_stream', 'failed']);
        expect(listTree(store)).to.equal(before);
        expect(readFileSync(outside, 'utf8')).to.equal('outside');
        expect(await lab.driver.listSnapshots(A)).to.deep.equal(['kept']);
      });
    }

    it('takes the same commands without harm in them', async () => {
      await receive(toStream(makeLink('l', '/etc'), makeFile('a'), write('a'), move('a', 'b')));
      await lab.driver.promote(A, 'new');
      expect(readFileSync(join(await lab.driver.mountPoint(A), 'b'), 'utf8')).to.equal('harm');
    });

    itDeep('takes a stream that does not fit for what it is', async () => {
      await lab.driver.materialise({ id: B, sizeBytes: 512 * MIB });
      writeFileSync(join(await lab.driver.mountPoint(B), 'file'), zeros(200 * MIB).fill(1), { flush: true });
      await lab.driver.snapshot(B, 'large');
      const { stream, checksum } = await lab.driver.send(B, 'large');
      const bytes = await buffer(stream);
      const refused = lab.driver.receive(A, arriving(bytes), { snapshot: 'large', checksum });
      expect(await catchCause(refused)).to.equal('no_space');
      expect(await lab.driver.listSnapshots(A)).to.deep.equal(['kept']);
    });
  });
});
