import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { describeCrashes } from './crashes.contract.js';
import { describeDriver } from './driver.contract.js';
import { A, arriving, type Lab, listTree, MIB, openLab, refusal } from './driver-lab.testing.js';

describe('the directory driver', () => {
  describeDriver('directory', 64 * MIB);

  describeCrashes('directory', 64 * MIB, {
    'volume.recorded': 'materialise',
    'volume.resizing': 'grow',
    'volume.resized': 'shrink',
    'volume.received': 'receive',
    'volume.accepted': 'receive',
    'volume.promoting': 'promote',
    'volume.swapping': 'promote',
    'volume.released': 'remove',
    'volume.removing': 'remove',
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
    const receive = (records: readonly object[], entries = records.length, content = '') => {
      const lines = [...records, { kind: 'end', entries }].map(each => `${JSON.stringify(each)}\n`);
      const bytes = Buffer.from(`mooring-folder 1\n${lines.join('')}${content}`);
      const digest = createHash('sha256').update(bytes).digest('hex');
      return lab.driver.receive(A, arriving(bytes, 7), { snapshot: 'bad', digest });
    };

    const outside = '../../../outside/file';
    const hostile: Readonly<Record<string, readonly object[]>> = {
      'a path with ..': [root, file(outside)],
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
        expect(await refusal(receive(records))).to.be.oneOf(['bad_stream', 'failed']);
        expect(await lab.driver.listSnapshots(A)).to.deep.equal([]);
        expect(listTree(join(lab.root, 'outside'))).to.equal(before);
        expect(readdirSync(join(lab.root, A)).sort()).to.deep.equal(['.data', 'snapshots', 'volume.json']);
      });
    }

    it('refuses a wrong count of entries', async () => {
      expect(await refusal(receive([root], 2))).to.equal('bad_stream');
    });

    it('takes no setuid bit over', async () => {
      await receive([root, { ...file('a'), mode: 0o6755 }]);
      await lab.driver.promote(A, 'bad');
      const { mode } = lstatSync(join(await lab.driver.mountPoint(A), 'a'));
      expect(mode & 0o7777).to.equal(0o755);
    });
  });
});
