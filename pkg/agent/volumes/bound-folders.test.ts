import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { BoundFolders, explainBadRoot, explainOpenRoot, findBadRoot } from './bound-folders.js';
import { A, B, catchCause } from './driver-lab.testing.js';

describe('the root of folders that may be volumes', () => {
  const STATE = '/var/lib/mooring';
  const cases: readonly { root: string; others?: readonly string[]; found: string | undefined }[] = [
    { root: '/srv/volumes', found: undefined },
    { root: '/srv/volumes', others: ['/srv/volumes2', '/srv/volume'], found: undefined },
    { root: '/var/lib/mooring-too', found: undefined },
    { root: '/var/lib/..more', found: undefined },
    { root: 'srv/volumes', found: 'absolute' },
    { root: '', found: 'absolute' },
    { root: '/', found: 'state folder' },
    { root: '/var/lib', found: 'state folder' },
    { root: '/var/lib/mooring', found: 'state folder' },
    { root: '/var/lib/mooring/volumes', found: 'state folder' },
    { root: '/srv', others: ['/srv/volumes'], found: 'another one' },
    { root: '/srv/volumes/inner', others: ['/srv/volumes'], found: 'another one' },
    { root: '/srv', others: ['/srv'], found: 'another one' },
  ];
  for (const { root, others = [], found } of cases) {
    it(`${found === undefined ? 'may be' : 'is not'} ${root === '' ? 'empty' : root} beside ${others.join(' and ') || 'none'}`, () => {
      const problem = explainBadRoot(root, others, STATE);
      if (found === undefined) expect(problem).to.equal(undefined);
      else expect(problem).to.contain(found);
    });
  }
});

describe('who may write to the root of folders that may be volumes', () => {
  const cases: readonly [what: string, uid: number, mode: number, found: string | undefined][] = [
    ['root alone', 0, 0o40700, undefined],
    ['root, while others may look', 0, 0o40755, undefined],
    ['its group too', 0, 0o40775, 'written to by others'],
    ['everybody', 0, 0o40777, 'written to by others'],
    ['everybody, each their own', 0, 0o41777, 'written to by others'],
    ['another user', 1000, 0o40700, 'another user than root'],
  ];
  for (const [what, uid, mode, found] of cases) {
    it(`is ${what}: ${found ?? 'it may be one'}`, () => {
      const problem = explainOpenRoot({ uid, mode }, 0);
      if (found === undefined) expect(problem).to.equal(undefined);
      else expect(problem).to.contain(found);
    });
  }
});

describe('volumes of type bind', () => {
  let base: string;
  let root: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'mooring-binds-'));
    root = join(base, 'allowed');
    makeRoot(root, 'data');
    mkdirSync(join(base, 'state'));
    mkdirSync(join(base, 'outside'));
  });
  afterEach(() => rmSync(base, { recursive: true }));

  const makeRoot = (path: string, ...names: readonly string[]) => {
    mkdirSync(path, { mode: 0o755 });
    for (const name of names) mkdirSync(join(path, name));
  };
  const open = (roots: readonly string[], isRoot = true) =>
    new BoundFolders({ roots, stateDir: join(base, 'state'), isRoot });
  const check = (name: string, isMade = false, id = A) =>
    open([join(base, 'absent'), root]).check({ id, name, ...(isMade && { isMade }) });

  it('are the folders below a root, the first that has one', async () => {
    await check('data');
    makeRoot(join(base, 'absent'), 'more');
    await check('more', false, B);
  });

  it('are the same folder each time: one of its name, below another root or in its place, is not taken for it', async () => {
    await check('data');
    makeRoot(join(base, 'absent'), 'data');
    await check('data', true);
    renameSync(join(root, 'data'), join(base, 'outside', 'data'));
    expect(await catchCause(check('data', true)), 'below another root').to.equal('refused');
    rmSync(join(base, 'absent'), { recursive: true });
    mkdirSync(join(root, 'data'));
    expect(await catchCause(check('data', true)), 'in its place').to.equal('refused');
    expect(await catchCause(check('data')), 'a control plane that knows less').to.equal('not_found');
    rmSync(join(root, 'data'), { recursive: true });
    renameSync(join(base, 'outside', 'data'), join(root, 'data'));
    await check('data', true);
  });

  it('have another folder once it is accepted, and none is remembered of one that was let go', async () => {
    for (const forget of [async () => rmSync(join(base, 'state/binds', `${A}.json`)), () => open([root]).release(A)]) {
      await check('data');
      renameSync(join(root, 'data'), mkdtempSync(join(base, 'outside', 'data-')));
      mkdirSync(join(root, 'data'));
      expect(await catchCause(check('data', true))).to.equal('refused');
      await forget();
      await check('data', true);
    }
    await open([root]).release(A);
    expect(readdirSync(join(base, 'state/binds'))).to.deep.equal([]);
  });

  it('are nowhere where others than root can put a folder, also when the disk comes later', async () => {
    const absent = join(base, 'absent');
    expect(await findBadRoot([absent, root], join(base, 'state'))).to.equal(undefined);
    makeRoot(absent);
    chmodSync(absent, 0o1777);
    const found = await findBadRoot([root, absent], join(base, 'state'));
    expect(found?.root).to.equal(absent);
    expect(found?.why).to.match(/written to by others than root.*; give it to root and "chmod go-w"/);
    expect(await catchCause(check('data'))).to.equal('refused');
  });

  it('are nowhere else, whatever they are called', async () => {
    for (const name of ['..', '.', '', '../outside', 'data/..', '/etc', 'Data', 'da ta', 'data\0', '../allowed/data']) {
      expect(await catchCause(check(name)), name).to.equal('refused');
    }
  });

  it('are no link out of the root, and no file', async () => {
    symlinkSync(join(base, 'outside'), join(root, 'out'));
    symlinkSync('data', join(root, 'inside'));
    symlinkSync('.', join(root, 'itself'));
    symlinkSync('nothing', join(root, 'dangling'));
    writeFileSync(join(root, 'file'), '');
    for (const name of ['out', 'inside', 'itself', 'dangling', 'file']) {
      expect(await catchCause(check(name)), name).to.equal('refused');
    }
  });

  it('are looked for each time: a folder that became a link is not used again', async () => {
    await check('data');
    renameSync(join(root, 'data'), join(base, 'outside', 'data'));
    symlinkSync(join(base, 'outside', 'data'), join(root, 'data'));
    expect(await catchCause(check('data', true))).to.equal('refused');
  });

  it('wait for a folder that is missing, and miss one that was there', async () => {
    expect(await catchCause(check('later'))).to.equal('refused');
    expect(await catchCause(check('later', true))).to.equal('not_found');
    mkdirSync(join(root, 'later'));
    await check('later');
  });

  it('need a root, which leads nowhere near the state folder, and an agent that is root', async () => {
    symlinkSync(base, join(base, 'above'));
    for (const folders of [open([]), open([root], false), open([join(base, 'above')])]) {
      expect(await catchCause(folders.check({ id: A, name: 'data' }))).to.equal('refused');
    }
  });
});
