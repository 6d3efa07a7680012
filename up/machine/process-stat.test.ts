import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { listPids, readProc, readStat } from './process-stat.js';

describe('what the system says of a process', () => {
  it('is read behind its name, whatever the name contains', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'moor-stat-'));
    const program = join(folder, 'a) R 1 (b');
    copyFileSync('/bin/sleep', program);
    const child = spawn(program, ['600']);
    const ended = new Promise(resolve => child.once('exit', resolve));
    try {
      await until('it runs', () => readProc(`${child.pid!}/comm`) === 'a) R 1 (b\n');
      expect(listPids()).to.include(child.pid);
      expect(readStat(child.pid!)[1]).to.equal(String(process.pid));
    } finally {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true });
    }
    expect(readStat(child.pid!)).to.deep.equal([]);
  });
});
