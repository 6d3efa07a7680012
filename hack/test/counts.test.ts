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
    writeFileSync(file, JSON.stringify({ passed: 3, failed: [], skipped: ['one'] }));
    expect(readCounts(file, { status: 0, tests: 'x.test.ts' })).to.deep.equal({
      passed: 3,
      failed: [],
      skipped: ['one'],
    });
  });

  for (const status of [1, null]) {
    it(`have a failure when the runner ended with ${status}, whatever it counted`, () => {
      writeFileSync(file, JSON.stringify({ passed: 3, failed: [], skipped: [] }));
      const failed = [`x.test.ts: the runner ended with status ${status}, though no test failed`];
      expect(readCounts(file, { status, tests: 'x.test.ts' })).to.deep.equal({ passed: 3, failed, skipped: [] });
    });
  }

  it('are one failure when the runner died before it could count', () => {
    const failed = ['x.test.ts: the runner ended with status 0 before it could count'];
    const counts = readCounts(join(folder, 'none'), { status: 0, tests: 'x.test.ts' });
    expect(counts).to.deep.equal({ passed: 0, failed, skipped: [] });
  });

  it('keep the failures that the runner named', () => {
    const counts = { passed: 3, failed: ['one\n    Error: no'], skipped: [] };
    writeFileSync(file, JSON.stringify(counts));
    expect(readCounts(file, { status: 1, tests: 'x.test.ts' })).to.deep.equal(counts);
  });

  it('are summed, with the reasons in order', () => {
    const parts = [
      { passed: 1, failed: ['d'], skipped: ['a'] },
      { passed: 3, failed: ['e'], skipped: ['b', 'c'] },
    ];
    expect(sum(parts)).to.deep.equal({ passed: 4, failed: ['d', 'e'], skipped: ['a', 'b', 'c'] });
  });
});
