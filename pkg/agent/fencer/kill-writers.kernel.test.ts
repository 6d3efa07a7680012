import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { expect } from 'chai';

import { skip } from '../../../dev/testing/index.js';
import { A, B, type Lab, MIB, openLab } from '../volumes/driver-lab.testing.js';
import { explainNoBtrfs } from '../volumes/open-driver.js';
import { programEnvironment } from '../volumes/run-tool.js';
import { WriterKiller } from './kill-writers.js';

/** A root of its own, in which a folder of the machine is mounted at /data, as engines make it. What it reads it appends to a file there. */
const CONTAINER = `
  set -e
  root=$1 source=$2 mode=$3
  mount -t tmpfs tmpfs "$root"
  cd "$root"
  mkdir data old
  for path in /bin /lib /lib64 /proc /usr; do [ ! -e "$path" ] || { mkdir ".$path"; mount --rbind "$path" ".$path"; }; done
  mount --bind "$source" data
  mount -o "remount,bind,$mode" data
  pivot_root . old
  cd /
  umount -l /old
  exec sh -c 'echo ready; while read -r line; do echo "$line" >>/data/written && echo written || echo refused; done'
`;

/** A process that has part of a volume mounted, in mounts of its own. */
class TestContainer {
  readonly #shell: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly ended: Promise<readonly unknown[]>;

  constructor(root: string, source: string, mode: 'rw' | 'ro') {
    const words = ['--mount', '--propagation', 'private', 'sh', '-c', CONTAINER, 'sh', root, source, mode];
    this.#shell = spawn('unshare', words, { env: programEnvironment });
    this.#shell.stdin.on('error', () => undefined); // of one that was killed
    this.#lines = createInterface({ input: this.#shell.stdout })[Symbol.asyncIterator]();
    this.ended = once(this.#shell, 'close');
  }

  async hear(): Promise<string | undefined> {
    return ((await this.#lines.next()) as IteratorResult<string, undefined>).value;
  }

  async write(line: string): Promise<string | undefined> {
    this.#shell.stdin.write(`${line}\n`);
    return this.hear();
  }

  async end(): Promise<void> {
    this.#shell.kill('SIGKILL');
    await this.ended;
  }
}

const noBtrfs = await explainNoBtrfs();
const drivers = [
  { choice: 'btrfs', sizeBytes: 128 * MIB, missing: noBtrfs },
  { choice: 'directory', sizeBytes: MIB, missing: process.getuid?.() === 0 ? undefined : 'run the tests as root' },
] as const;

for (const { choice, sizeBytes, missing } of drivers) {
  describe(`who writes to a volume of the driver ${choice}`, () => {
    let lab: Lab;
    /** What each mounts its root on, which no other sees. */
    let root: string;
    const containers: TestContainer[] = [];
    before(async function () {
      if (missing !== undefined) skip(this, missing);
      lab = await openLab(choice);
      root = join(lab.root, '..', 'root');
      mkdirSync(root);
    });
    afterEach(async () => {
      for (const each of containers.splice(0)) await each.end();
    });
    after(async () => lab?.close());

    const start = async (source: string, mode: 'rw' | 'ro' = 'rw') => {
      const container = new TestContainer(root, source, mode);
      containers.push(container);
      expect(await container.hear()).to.equal('ready');
      return container;
    };

    it('is killed, also where only a folder of it is mounted, and nobody else', async () => {
      for (const id of [A, B]) await lab.driver.materialise({ id, sizeBytes });
      const folder = await lab.driver.mountPoint(A);
      const writer = await start(folder);
      const inner = await start(await lab.driver.mountPoint(A, 'deep/inside'));
      const reader = await start(folder, 'ro');
      const other = await start(await lab.driver.mountPoint(B));
      expect(await writer.write('outer')).to.equal('written');
      expect(await inner.write('inner')).to.equal('written');
      expect(readFileSync(join(folder, 'deep/inside/written'), 'utf8')).to.equal('inner\n');

      const killer = new WriterKiller();
      expect(killer.kill([folder])).to.equal(2);
      for (const { ended } of [writer, inner]) expect(await ended).to.deep.equal([null, 'SIGKILL']);
      expect(await reader.write('read')).to.equal('refused');
      expect(await other.write('other')).to.equal('written');
      expect(killer.kill([folder]), 'none is left').to.equal(0);
    });

    it('is killed when it was remembered, when it came since, and never for another volume', async () => {
      for (const id of [A, B]) await lab.driver.materialise({ id, sizeBytes });
      const [folder, elsewhere] = [await lab.driver.mountPoint(A), await lab.driver.mountPoint(B)];
      const killer = new WriterKiller();
      const known = await start(folder);
      killer.remember([folder, elsewhere]);
      const later = await start(folder);
      expect(killer.kill([elsewhere])).to.equal(0);
      expect(await known.write('on')).to.equal('written');
      expect(killer.kill([folder])).to.equal(2);
      for (const { ended } of [known, later]) expect(await ended).to.deep.equal([null, 'SIGKILL']);
    });
  });
}
