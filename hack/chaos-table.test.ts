import { expect } from 'chai';

import { type ChaosResult, formatChaosResult } from './chaos-table.js';

const ran = { runs: 1, operations: 3_092, unknown: 0, lost: 0, doubled: 0, others: 0, resumedAfterMs: 3_840 };
const held: ChaosResult = {
  rows: [{ fault: 'leader killed', members: 3, ...ran }],
  missed: [],
  failures: [],
  isCutShort: false,
};
const missed = { fault: 'leader isolated', members: 3, because: 'network namespaces need root' };

const readVerdict = (result: ChaosResult) => formatChaosResult(result).split('\n').at(-1);

describe('the table of make chaos', () => {
  it('shows what was run, and what was not by name and with the reason', () => {
    const text = formatChaosResult({ ...held, missed: [missed] });
    expect(text).to.match(/^leader killed +3 +1 +3092 +0 +0 +0 +0 +3\.8 s$/m);
    expect(text).to.match(/^leader isolated +3 +0 +- +- +- +- +- +not run$/m);
    expect(text).to.include('NOT RUN leader isolated on 3 members: network namespaces need root');
  });

  const verdicts: readonly [string, Partial<ChaosResult>, string][] = [
    ['everything was run and held', {}, 'every promise was kept'],
    ['one fault was not run', { missed: [missed] }, '1 fault was not run'],
    ['two faults were not run', { missed: [missed, missed] }, '2 faults were not run'],
    ['a promise was broken', { failures: ['x'] }, '1 broken promise'],
    ['both', { failures: ['x', 'y'], missed: [missed] }, '2 broken promises, 1 fault was not run'],
    ['it was ended early', { isCutShort: true }, 'ended before it was finished'],
  ];
  for (const [when, difference, verdict] of verdicts)
    it(`ends with “${verdict}” when ${when}`, () => {
      expect(readVerdict({ ...held, ...difference })).to.equal(verdict);
    });
});
