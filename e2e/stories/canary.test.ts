import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { EtcdProcess } from '../../dev/processes/index.js';
import { create, EtcdStore } from '../../pkg/store/index.js';
import { createCanary, readCommandLines, listFilesBelow, findCanaries, encodeForms } from '../lab/canary.js';

describe('the search for canaries', () => {
  const planted = createCanary('planted');
  const other = createCanary('other');

  it('has forms that differ from one another', () => {
    const forms = [...encodeForms(planted.value).values()].map(bytes => bytes.toString());
    expect(new Set(forms).size).to.be.at.least(10);
  });

  for (const [form, bytes] of encodeForms(planted.value)) {
    it(`finds what is written as ${form}`, () => {
      const place = { name: 'log', bytes: Buffer.concat([Buffer.from('before '), bytes, Buffer.from(' after')]) };
      expect(findCanaries([other, planted], [place])).to.deep.include({ canary: 'planted', form, place: 'log' });
      expect(findCanaries([other], [place])).to.deep.equal([]);
    });
  }

  for (const before of ['', 'x', 'xy', 'xyz']) {
    it(`finds it inside base64 after ${before.length} bytes, whatever follows`, () => {
      const bytes = Buffer.from(Buffer.from(`${before}${planted.value}${before}?`).toString('base64'));
      expect(findCanaries([planted], [{ name: 'log', bytes }]).map(({ form }) => form.split(' ')[0])).to.include(
        'base64',
      );
    });
  }

  it('looks into every file below a folder, but for those that are left out', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-canary-'));
    try {
      await mkdir(join(folder, 'a', 'b'), { recursive: true });
      await mkdir(join(folder, 'engine'));
      await writeFile(join(folder, 'a', 'b', 'log'), `value=${planted.value}`);
      await writeFile(join(folder, 'engine', 'config'), planted.value);
      const found = findCanaries([planted], await listFilesBelow(folder, ['engine']));
      expect(found).to.deep.equal([{ canary: 'planted', form: 'raw', place: 'a/b/log' }]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('looks at what processes were started with', async () => {
    const program = 'console.log(1); setTimeout(() => {}, 60_000)';
    const child = spawn(process.execPath, ['-e', program, planted.value], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      await once(child.stdout, 'data'); // before it runs, its command line may still be empty
      expect(findCanaries([planted], await readCommandLines()).map(({ place }) => place)).to.deep.equal([
        `/proc/${child.pid}/cmdline`,
      ]);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('finds in etcd what was overwritten and deleted long ago', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-canary-'));
    const etcd = await EtcdProcess.start({ dataDir: join(folder, 'etcd') });
    const store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    try {
      await create(store, 'leaks/one', { value: planted.value });
      const at = (await store.get('leaks/one'))!.revision;
      await store.commit({ guards: [{ key: 'leaks/one', at }], puts: [], deletes: ['leaks/one'] });
      const found = findCanaries([planted, other], await listFilesBelow(folder));
      expect(found.map(({ canary: name }) => name))
        .to.include('planted')
        .and.not.to.include('other');
    } finally {
      await store.close();
      await etcd.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    }
  });
});
