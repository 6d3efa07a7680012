import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '../pkg/clock/index.js';
import { claim, livingSupervisor } from './claim.js';
import { Home } from './home.js';
import { end, identify, isAlive } from './identity.js';
import { writeJson } from './json-file.js';
import { MARK, strays } from './strays.js';

describe('what an earlier run left behind', () => {
  let home: Home;

  beforeEach(() => {
    home = new Home(mkdtempSync(join(tmpdir(), 'moor-left-')));
    home.create();
  });

  afterEach(() => rmSync(home.folder, { recursive: true }));

  it('finds a marked process that nobody recorded, and no other', async () => {
    const start = (folder: string) =>
      spawn('sleep', ['600'], { detached: true, stdio: 'ignore', env: { ...process.env, [MARK]: folder } }).pid!;
    // Started by an intermediate process, as by a supervisor that is gone: a child of this one would be its own.
    const shell = spawn('sh', ['-c', `sleep 600 & echo $!`], { env: { ...process.env, [MARK]: home.folder } });
    const stray = Number(await new Promise<Buffer>(resolve => shell.stdout.once('data', resolve)));
    const foreign = identify(start('/elsewhere'))!;
    const own = identify(start(home.folder))!;
    try {
      expect(strays(home.folder, [own]).map(({ pid }) => pid)).to.deep.equal([stray]);
      expect(strays(home.folder, [own, identify(stray)!])).to.deep.equal([]);
    } finally {
      for (const identity of [foreign, own, identify(stray)!])
        await end(identity, { clock: systemClock, graceMs: 500 });
    }
  });

  it('lets one supervisor in, and the next one after the first has died', () => {
    const path = home.path('run', 'supervisor.json');
    const other = identify(process.ppid)!;

    writeJson(path, other);
    expect(claim(home)).to.equal(false);

    writeJson(path, { ...other, started: '1' });
    expect(livingSupervisor(home)).to.equal(undefined);
    expect(claim(home)).to.equal(true);
    expect(livingSupervisor(home)?.pid).to.equal(process.pid);
  });

  it('takes a process of an earlier boot for a dead one', () => {
    const self = identify(process.pid)!;

    expect(isAlive(self)).to.equal(true);
    expect(isAlive({ ...self, boot: 'another' })).to.equal(false);
  });
});
