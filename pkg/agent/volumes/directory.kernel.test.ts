import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { expect } from 'chai';

import { itDeep } from '../../../dev/testing/index.js';
import { BoundFolders } from './bound-folders.js';
import { type CrashedCall, describeCrashes } from './crashes.contract.js';
import { lacksOlder } from './directory-send.js';
import { describeDriver } from './driver.contract.js';
import { A, arriving, type Lab, listTree, MIB, openLab, catchCause } from './driver-lab.testing.js';
import type { VolumeFault } from './driver.js';
import { listMounts } from './mounts.js';
import { programEnvironment } from './run-tool.js';
import { describeKeptVolumes } from './removed.contract.js';
import { describeSnapshots } from './snapshots.contract.js';
import { StreamChecksum } from './stream-checksum.js';

/** The names of all files below a folder. */
const listNames = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap(each => (each.isFile() ? [each.name] : []));

/** Has a shell work in a folder. Gives what ends it with all that it has started: only then is its output closed. */
function startWorkload(script: string, folder: string): () => Promise<void> {
  const shell = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  shell.stdout.resume();
  return async () => {
    process.kill(-shell.pid!, 'SIGKILL');
    await once(shell, 'close');
  };
}

/** Has a script run in the place of `cp`. Gives what ends that. */
function replaceCopyProgram(script: string): () => void {
  const programs = mkdtempSync(join(tmpdir(), 'mooring-programs-'));
  writeFileSync(join(programs, 'cp'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const { PATH: before } = programEnvironment;
  programEnvironment['PATH'] = `${programs}:${before}`;
  return () => {
    programEnvironment['PATH'] = before;
    rmSync(programs, { recursive: true });
  };
}

/** How many there are in a folder that comes and goes. */
function countEntries(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

describe('the directory driver', () => {
  describe('and volumes', () => describeDriver('directory', 64 * MIB));

  describe('and snapshots', () => describeSnapshots('directory', 64 * MIB));

  describe('and removed volumes, which', () => describeKeptVolumes('directory', 64 * MIB));

  const kills: Readonly<Record<string, CrashedCall>> = {
    'volume.recorded': 'materialise',
    'volume.resizing': 'grow',
    'volume.resized': 'shrink',
    'volume.received': 'receive',
    'volume.accepted': 'receive',
    'volume.promoting': 'promote',
    'volume.swapping': 'promote',
    'volume.released': 'remove',
    'volume.removed': 'remove',
    'volume.deleting': 'remove',
  };

  describe('and a kill', () => describeCrashes('directory', 64 * MIB, kills));

  itDeep('takes snapshots of a folder in which files come and go', async () => {
    const lab = await openLab('directory');
    await lab.driver.materialise({ id: A, sizeBytes: 8 * MIB });
    const path = await lab.driver.mountPoint(A);
    writeFileSync(join(path, 'kept'), 'kept');
    const script = 'cd "$0" && while :; do for n in 1 2 3 4 5 6 7 8; do : >"f$n"; done; rm f?; done';
    const endWorkload = startWorkload(script, path);
    try {
      for (let at = 0; at < 40; at++) {
        await lab.driver.snapshot(A, `s${at}`);
        expect(readFileSync(join(lab.root, A, 'snapshots', `s${at}`, 'kept'), 'utf8')).to.equal('kept');
      }
    } finally {
      await endWorkload();
      await lab.close();
    }
  });

  itDeep('takes no snapshot that lacks a file which was only moved meanwhile', async () => {
    const lab = await openLab('directory');
    await lab.driver.materialise({ id: A, sizeBytes: 64 * MIB });
    const path = await lab.driver.mountPoint(A);
    const names = Array.from({ length: 400 }, (_, at) => `m${at}`);
    for (const folder of ['cur', 'new']) mkdirSync(join(path, folder));
    for (const name of names) writeFileSync(join(path, 'new', name), name);
    const script = 'cd "$0" && while :; do mv new/* cur/; sleep 0.1; mv cur/* new/; sleep 0.1; done';
    const endWorkload = startWorkload(script, path);
    try {
      for (let at = 0; at < 5; at++) {
        const isTaken = lab.driver.snapshot(A, `s${at}`).then(() => undefined);
        const refused = await isTaken.catch((thrown: VolumeFault) => thrown.why);
        const taken = await lab.driver.listSnapshots(A);
        expect(taken.includes(`s${at}`)).to.equal(refused === undefined);
        const found = new Set(taken.flatMap(each => listNames(join(lab.root, A, 'snapshots', each))));
        if (refused === undefined) expect(names.filter(name => !found.has(name))).to.deep.equal([]);
        else expect(refused).to.equal('failed');
        for (const each of taken) await lab.driver.dropSnapshot(A, each);
      }
    } finally {
      await endWorkload();
      await lab.close();
    }
  });

  it('finds what a copy lacks also when it is moved once more while it is looked for', async () => {
    const lab = await openLab('directory');
    const [root, copy] = [join(lab.root, 'live'), join(lab.root, 'copied')];
    for (const folder of [root, copy])
      for (const name of ['a', 'b']) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(root, 'b', 'moved'), '');
    const read = async (path: Buffer) => {
      const entries = await readdir(path, { withFileTypes: true, encoding: 'latin1' });
      const [from, to] = [join(root, 'b', 'moved'), join(root, 'a', 'moved')];
      if (path.toString() === join(root, 'a') && existsSync(from)) renameSync(from, to);
      return entries;
    };
    try {
      expect(await lacksOlder(root, copy, () => true, read)).to.equal(true);
      writeFileSync(join(copy, 'a', 'moved'), '');
      expect(await lacksOlder(root, copy, () => true)).to.equal(false);
    } finally {
      await lab.close();
    }
  });

  it('copies nothing of the machine when a workload has a symbolic link in the place of a folder meanwhile', async () => {
    const lab = await openLab('directory');
    await lab.driver.materialise({ id: A, sizeBytes: 8 * MIB });
    const path = await lab.driver.mountPoint(A);
    const outside = join(lab.root, '..', 'outside');
    const move = (from: string, to: string) => renameSync(join(path, from), join(path, to));
    const names = Array.from({ length: 3_000 }, (_, at) => `f${at}`);
    const fill = (folder: string, text: string) => {
      mkdirSync(folder);
      for (const name of names) writeFileSync(join(folder, name), text);
    };
    try {
      fill(outside, 'secret');
      fill(join(path, 'folder'), 'own');
      symlinkSync(outside, join(path, 'link'));
      let isOver = false;
      const onEnd = () => {
        isOver = true;
      };
      const ended = lab.driver.snapshot(A, 's').then(onEnd, onEnd);
      const untilCopied = async (count: number) => {
        while (!isOver && countEntries(join(lab.root, A, '.copy', 'folder')) < count) await setImmediate();
      };
      await untilCopied(1);
      move('folder', 'aside');
      move('link', 'folder');
      await untilCopied(names.length);
      move('folder', 'link');
      move('aside', 'folder');
      await ended;
      const { stdout } = spawnSync('grep', ['-rl', 'secret', join(lab.root, A)], { encoding: 'utf8' });
      expect(stdout).to.equal('');
    } finally {
      await lab.close();
    }
  });

  it('copies inside of one mount: Linux before 5.18 shares no blocks of files between two', async () => {
    const lab = await openLab('directory');
    const ids = join(lab.root, 'ids');
    const script = `exec 3<"$5" 4<"\${6%/*}"; grep -h mnt_id /proc/self/fdinfo/3 /proc/self/fdinfo/4 >'${ids}'`;
    const restore = replaceCopyProgram(`${script}; exec /bin/cp "$@"`);
    try {
      await lab.driver.materialise({ id: A, sizeBytes: 8 * MIB });
      await lab.driver.snapshot(A, 's');
      const found = readFileSync(ids, 'utf8').trim().split('\n');
      expect(found).to.have.length(2);
      expect(new Set(found).size).to.equal(1);
    } finally {
      restore();
      await lab.close();
    }
  });

  it('misses no file that is moved while it is copied where the clock was set back after it was made', async () => {
    const lab = await openLab('directory');
    const move =
      'if [ -e "$5/b/moved" ]; then mv "$5/b/moved" "${6%/*}/held"; /bin/cp "$@"; mv "${6%/*}/held" "$5/a/moved"';
    const restore = replaceCopyProgram(`${move}; else /bin/cp "$@"; fi`);
    const { now } = Date;
    try {
      await lab.driver.materialise({ id: A, sizeBytes: 8 * MIB });
      const path = await lab.driver.mountPoint(A);
      for (const folder of ['a', 'b']) mkdirSync(join(path, folder));
      writeFileSync(join(path, 'b', 'moved'), '');
      Date.now = () => now() - 3_600_000;
      await lab.driver.snapshot(A, 's');
      expect(listNames(join(lab.root, A, 'snapshots', 's'))).to.deep.equal(['moved']);
    } finally {
      Date.now = now;
      restore();
      await lab.close();
    }
  });

  it('gives the disk back that a snapshot has filled', async () => {
    const lab = await openLab('directory');
    const folder = join(lab.root, A);
    mkdirSync(folder);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
    try {
      await lab.driver.materialise({ id: A, sizeBytes: MIB });
      writeFileSync(join(await lab.driver.mountPoint(A), 'most'), Buffer.alloc(MIB / 2 + 64 * 1024, 1));
      expect(await catchCause(lab.driver.snapshot(A, 's'))).to.equal('no_space');
      expect(readdirSync(folder)).not.to.include('.copy');
    } finally {
      execFileSync('umount', [folder]);
      await lab.close();
    }
  });

  it('has folders of the machine beside it, mounted as they were checked, and left as they are', async () => {
    const base = mkdtempSync(join(tmpdir(), 'mooring-binds-'));
    const at = (...names: string[]) => join(base, ...names);
    for (const name of ['state', 'outside', 'root/data/sub']) mkdirSync(at(name), { recursive: true, mode: 0o755 });
    for (const name of ['outside', 'root/data']) writeFileSync(at(name, 'file'), name);
    const folders = new BoundFolders({ roots: [at('root')], stateDir: at('state'), isRoot: true });
    const volume = { id: A, name: 'data' };
    try {
      const path = await folders.mountPoint(volume);
      const inner = await folders.mountPoint(volume, 'sub/new');
      writeFileSync(join(inner, 'written'), '');
      const pins = (await listMounts()).filter(mount => [path, inner].includes(mount.path));
      expect(pins.map(({ options }) => options.filter(option => /^no(suid|dev)$/.test(option)).sort())).to.deep.equal([
        ['nodev', 'nosuid'],
        ['nodev', 'nosuid'],
      ]);
      symlinkSync(at('outside'), join(path, 'out'));
      expect(await catchCause(folders.mountPoint(volume, 'out'))).to.equal('refused');
      renameSync(at('root/data'), at('root/moved'));
      symlinkSync(at('outside'), at('root/data'));
      expect(await catchCause(folders.mountPoint(volume))).to.equal('refused');
      expect(readFileSync(join(path, 'file'), 'utf8'), 'exchanged after it was mounted').to.equal('root/data');
      rmSync(at('root/data'));
      mkdirSync(at('root/data'));
      expect(await catchCause(folders.mountPoint(volume)), 'another folder of that name').to.equal('not_found');
      rmSync(at('state/binds', `${A}.json`));
      expect(await folders.mountPoint(volume), 'it was accepted').to.equal(path);
      expect(readdirSync(path)).to.deep.equal([]);
      await folders.release(A);
      await folders.release(A);
      expect((await listMounts()).filter(mount => mount.path.startsWith(base))).to.deep.equal([]);
      expect(readdirSync(at('state/binds'))).to.deep.equal([]);
      expect(readdirSync(at('root/moved')).sort()).to.deep.equal(['file', 'out', 'sub']);
      expect(readdirSync(at('root/moved/sub/new'))).to.deep.equal(['written']);
    } finally {
      await folders.release(A);
      rmSync(base, { recursive: true });
    }
  });

  describe('and streams that were made to do harm', () => {
    let lab: Lab;
    beforeEach(async () => {
      lab = await openLab('directory');
      await lab.driver.materialise({ id: A, sizeBytes: 8 * MIB });
      mkdirSync(join(lab.root, 'outside'));
      writeFileSync(join(lab.root, 'outside/file'), 'outside');
    });
    afterEach(() => lab.close());

    const owned = { mode: 0o755, uid: 0, gid: 0, mtime: 1 };
    const root = { kind: 'folder', path: '', ...owned };
    const file = (path: string) => ({ kind: 'file', path, ...owned, size: 0 });
    const receive = (records: readonly object[], entries = records.length, into: { parent?: string } = {}) => {
      const lines = [...records, { kind: 'end', entries }].map(each => `${JSON.stringify(each)}\n`);
      const bytes = Buffer.from(`mooring-folder 1\n${lines.join('')}`);
      const checksum = new StreamChecksum().add(bytes).toHex();
      return lab.driver.receive(A, arriving(bytes, 7), { snapshot: into.parent ? 'worse' : 'bad', checksum, ...into });
    };

    const outside = '../../../outside/file';
    const hostile: Readonly<Record<string, readonly object[]>> = {
      'a path with ..': [root, file(outside)],
      'a path with .. in characters that are no bytes': [
        root,
        file('\u012e\u012e\u012f\u012e\u012e\u012foutside\u012fnew'),
      ],
      'a target in characters that are no bytes': [
        root,
        { kind: 'symlink', path: 'l', to: '\u012ftmp', uid: 0, gid: 0 },
      ],
      'an absolute path': [root, file('/tmp/mooring-outside')],
      'a path over a symbolic link': [root, { kind: 'symlink', path: 'l', to: '/tmp', uid: 0, gid: 0 }, file('l/x')],
      'a file over a symbolic link': [root, { kind: 'symlink', path: 'l', to: outside, uid: 0, gid: 0 }, file('l')],
      'a folder over a symbolic link': [
        root,
        { kind: 'symlink', path: 'l', to: '/tmp', uid: 0, gid: 0 },
        { ...root, path: 'l' },
      ],
      'a hard link to the outside': [root, { kind: 'link', path: 'l', to: outside }],
      'a hard link to a symbolic link': [
        root,
        { kind: 'symlink', path: 'l', to: outside, uid: 0, gid: 0 },
        { kind: 'link', path: 'h', to: 'l' },
      ],
      'a file twice': [root, file('a'), file('a')],
      'a folder twice': [root, root],
      'an entry before its folder': [root, file('a/b')],
      'no folder at all': [file('a')],
      'nothing at all': [],
      'an unknown kind': [root, { ...file('a'), kind: 'device' }],
      'a kind of every object': [root, { ...file('a'), kind: 'constructor' }],
      'a size that is no number': [root, { ...file('a'), size: '1' }],
      'a negative size': [root, { ...file('a'), size: -1 }],
      'a size above the volume': [root, { ...file('a'), size: 2 ** 50 }],
      'a name with a zero byte': [root, file('a\0b')],
      'a file of a parent that there is not': [root, { kind: 'same', path: 'a', ...owned, digest: '0'.repeat(64) }],
      'more entries than fit': [root, ...Array.from({ length: 4000 }, (_, at) => file(`f${at}`))],
    };
    for (const [name, records] of Object.entries(hostile)) {
      it(`refuses ${name}, and nothing is written`, async () => {
        const before = listTree(join(lab.root, 'outside'));
        expect(await catchCause(receive(records))).to.be.oneOf(['bad_stream', 'failed']);
        expect(await lab.driver.listSnapshots(A)).to.deep.equal([]);
        expect(listTree(join(lab.root, 'outside'))).to.equal(before);
        expect(readdirSync(join(lab.root, A)).sort()).to.deep.equal(['.data', 'snapshots', 'volume.json']);
      });
    }

    it('reads no file of a parent over a symbolic link, whatever it holds', async () => {
      const to = join(lab.root, 'outside');
      await receive([root, { kind: 'symlink', path: 'l', to, uid: 0, gid: 0 }]);
      const digest = createHash('sha256').update('outside').digest('hex');
      const guessed = [root, { ...root, path: 'l' }, { kind: 'same', path: 'l/file', ...owned, digest }];
      expect(await catchCause(receive(guessed, guessed.length, { parent: 'bad' }))).to.equal('bad_stream');
      expect(await lab.driver.listSnapshots(A)).to.deep.equal(['bad']);
    });

    it('refuses a wrong count of entries', async () => {
      expect(await catchCause(receive([root], 2))).to.equal('bad_stream');
    });

    it('takes no setuid bit over', async () => {
      await receive([root, { ...file('a'), mode: 0o6755 }]);
      await lab.driver.promote(A, 'bad');
      const { mode } = lstatSync(join(await lab.driver.mountPoint(A), 'a'));
      expect(mode & 0o7777).to.equal(0o755);
    });
  });
});
