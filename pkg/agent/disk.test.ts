import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { seededRandom } from '../clock/index.js';
import { createDirectoryDisk } from './disk.js';
import { loadNodeKey } from './membership/membership.js';

describe("the agent's disk", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moor-disk-'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('writes files that only their owner can read', async () => {
    const disk = createDirectoryDisk(join(folder, 'state'));
    await disk.write('node.json', 'one');
    await disk.write('node.json', 'two');

    expect(await disk.read('node.json')).to.equal('two');
    expect((await stat(join(folder, 'state', 'node.json'))).mode & 0o777).to.equal(0o600);
    expect((await stat(join(folder, 'state'))).mode & 0o777).to.equal(0o700);
    expect(await readdir(join(folder, 'state'))).to.deep.equal(['node.json']);
  });

  it('returns undefined for a missing file, and throws other errors', async () => {
    expect(await createDirectoryDisk(folder).read('node.json')).to.equal(undefined);

    await writeFile(join(folder, 'file'), '');
    const thrown = await createDirectoryDisk(join(folder, 'file'))
      .read('node.json')
      .then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error.code,
      );
    expect(thrown).to.equal('ENOTDIR');
  });

  it('stores the key of the node', async () => {
    const disk = createDirectoryDisk(folder);
    const first = await loadNodeKey(disk, seededRandom(1));
    const second = await loadNodeKey(disk, seededRandom(2));

    expect(second.publicKey).to.equal(first.publicKey);
  });
});
