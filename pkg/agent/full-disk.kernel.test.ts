import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { skip } from '../../dev/testing/index.js';
import { silentLogger } from '../log/index.js';
import { createDirectoryDisk, type Disk } from './disk.js';
import { StateFolder, StateFolderFault } from './state-folder.js';

describe('a state folder on a file system that is really full', () => {
  let folder: string;
  let inner: Disk;
  let state: StateFolder;
  let isMounted: boolean;
  beforeEach(function () {
    folder = mkdtempSync(join(tmpdir(), 'moor-full-'));
    isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]).status === 0;
    if (!isMounted) {
      skip(this, 'no file system can be mounted here: run the tests with CAP_SYS_ADMIN');
    }
    inner = createDirectoryDisk(folder);
    state = new StateFolder(inner, silentLogger);
  });
  afterEach(() => {
    if (isMounted) spawnSync('umount', [folder]);
    rmSync(folder, { recursive: true, force: true });
  });

  const fill = () => {
    try {
      for (;;) writeFileSync(join(folder, 'ballast'), Buffer.alloc(4096), { flag: 'a' });
    } catch (thrown) {
      expect((thrown as NodeJS.ErrnoException).code).to.equal('ENOSPC');
    }
  };

  it('keeps what it had, gathers no drafts, and takes everything once there is room', async () => {
    await state.write('node.json', 'old');
    fill();
    const large = 'x'.repeat(10_000);
    for (let attempt = 0; attempt < 20; attempt++) {
      const fault = await state.write('attempts.json', large).catch((thrown: unknown) => thrown);
      expect(fault).to.be.instanceOf(StateFolderFault);
      await state.keep('node.json', `${large}${attempt}`);
    }
    expect(readdirSync(folder)).to.have.members(['ballast', 'node.json']);
    expect(await inner.read('node.json'), 'on disk').to.equal('old');
    expect(await state.read('node.json'), 'for the agent').to.equal(`${large}19`);
    expect(state.conditions.map(({ message }) => message).join()).to.match(/ENOSPC.*free some disk space/);

    unlinkSync(join(folder, 'ballast'));
    await state.probe();
    expect(state.conditions).to.deep.equal([]);
    expect(await inner.read('node.json')).to.equal(`${large}19`);
    await state.write('attempts.json', large);
    expect(readdirSync(folder)).to.have.members(['attempts.json', 'node.json']);
  });

  it('says so also when nothing is to be written, and after a write that is not kept, until there is room for more than a name', async () => {
    const isTold = () => state.conditions.map(({ reason }) => reason).includes('state_folder_unwritable');
    await state.probe();
    expect(isTold()).to.equal(false);
    expect(readdirSync(folder)).to.deep.equal([]);
    fill();
    writeFileSync(join(folder, 'empty'), ''); // a name alone still has room
    await state.probe();
    expect(isTold(), 'of an idle agent').to.equal(true);

    unlinkSync(join(folder, 'ballast'));
    await state.probe();
    expect(isTold()).to.equal(false);
    fill();
    await state.write('attempts.json', 'x'.repeat(10_000)).catch(() => undefined);
    await state.probe();
    expect(isTold(), 'after a write').to.equal(true);

    truncateSync(join(folder, 'ballast'), statSync(join(folder, 'ballast')).size - 8192);
    await state.write('node.json', 'small');
    expect(isTold(), 'a few pages are free').to.equal(true);
    unlinkSync(join(folder, 'ballast'));
    await state.probe();
    expect(isTold()).to.equal(false);
  });
});
