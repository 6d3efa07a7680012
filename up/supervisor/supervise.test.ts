import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { Home, writeJson } from '../home/home.js';
import { identifyProcess } from '../machine/os-process.js';
import { claimSupervision, findSupervisor } from './supervise.js';

describe('claim of the supervisor', () => {
  let home: Home;

  beforeEach(() => {
    home = new Home(mkdtempSync(join(tmpdir(), 'moor-claim-')));
    home.create();
  });

  afterEach(() => rmSync(home.folder, { recursive: true }));

  it('is granted to one supervisor, and to the next after the first has died', () => {
    const path = home.path('run', 'supervisor.json');
    const other = identifyProcess(process.ppid)!;

    writeJson(path, other);
    expect(claimSupervision(home)).to.equal(false);

    writeJson(path, { ...other, started: '1' });
    expect(findSupervisor(home)).to.equal(undefined);
    expect(claimSupervision(home)).to.equal(true);
    expect(findSupervisor(home)?.pid).to.equal(process.pid);
  });
});
