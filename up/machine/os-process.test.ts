import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '../../pkg/clock/index.js';
import { Home } from '../home/home.js';
import { terminateProcess, identifyProcess, isAlive, MARK_VARIABLE, findStrays } from './os-process.js';

describe('identity of a process', () => {
  let home: Home;

  beforeEach(() => {
    home = new Home(mkdtempSync(join(tmpdir(), 'moor-left-')));
    home.create();
  });

  afterEach(() => rmSync(home.folder, { recursive: true }));

  it('tells a marked process that no record names from every other', async () => {
    const start = (folder: string) =>
      spawn('sleep', ['600'], { detached: true, stdio: 'ignore', env: { ...process.env, [MARK_VARIABLE]: folder } })
        .pid!;
    // Started by an intermediate process, as by a supervisor that is gone: a child of this one would be its own.
    const shell = spawn('sh', ['-c', `sleep 600 & echo $!`], { env: { ...process.env, [MARK_VARIABLE]: home.folder } });
    const stray = Number(await new Promise<Buffer>(resolve => shell.stdout.once('data', resolve)));
    const foreign = identifyProcess(start('/elsewhere'))!;
    const own = identifyProcess(start(home.folder))!;
    try {
      expect(findStrays(home.folder, [own]).map(({ pid }) => pid)).to.deep.equal([stray]);
      expect(findStrays(home.folder, [own, identifyProcess(stray)!])).to.deep.equal([]);
    } finally {
      for (const identity of [foreign, own, identifyProcess(stray)!])
        await terminateProcess(identity, { clock: systemClock, graceMs: 500 });
    }
  });

  it('does not match a process of an earlier boot', () => {
    const self = identifyProcess(process.pid)!;

    expect(isAlive(self)).to.equal(true);
    expect(isAlive({ ...self, boot: 'another' })).to.equal(false);
  });
});
