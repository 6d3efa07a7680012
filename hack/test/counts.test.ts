import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { readCounts, sum } from './counts.js';

describe('counts of tests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-counts-'));
  const file = join(folder, 'counts.json');
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('are those of the runner', () => {
    writeFileSync(file, JSON.stringify({ passed: 3, failed: 0, skipped: ['one'] }));
    expect(readCounts(file, 0)).to.deep.equal({ passed: 3, failed: 0, skipped: ['one'] });
  });

  for (const status of [1, null]) {
    it(`have a failure when the runner ended with ${status}, whatever it counted`, () => {
      writeFileSync(file, JSON.stringify({ passed: 3, failed: 0, skipped: [] }));
      expect(readCounts(file, status)).to.deep.equal({ passed: 3, failed: 1, skipped: [] });
    });
  }

  it('are one failure when the runner died before it could count', () => {
    expect(readCounts(join(folder, 'none'), 0)).to.deep.equal({ passed: 0, failed: 1, skipped: [] });
  });

  it('are summed, with the reasons in order', () => {
    const parts = [
      { passed: 1, failed: 2, skipped: ['a'] },
      { passed: 3, failed: 4, skipped: ['b', 'c'] },
    ];
    expect(sum(parts)).to.deep.equal({ passed: 4, failed: 6, skipped: ['a', 'b', 'c'] });
  });
});
