import { expect } from 'chai';

import { judgeGrowth } from './growth.js';

const MINUTE = 60_000;
const sample = (minute: number, server: number) => ({ atMs: minute * MINUTE, megabytes: { server } });
const judge = (settled: number, end: number) =>
  judgeGrowth(
    [sample(0, 1), sample(5, settled), sample(7, settled * 2), sample(29, end), sample(30, end * 2)],
    5 * MINUTE,
  )[0];

describe('growth of memory', () => {
  const cases: readonly (readonly [name: string, settled: number, end: number, isBroken: boolean])[] = [
    ['a tenth more is taken', 100, 109.9, false],
    ['more than a tenth is not', 100, 110.1, true],
    ['less is taken', 100, 50, false],
    ['a process that is gone at the end is no small one', 100, 0, true],
    ['a process that came late had no size to compare with', 0, 100, true],
    ['what cannot be read is not taken', 100, NaN, true],
  ];
  for (const [name, settled, end, isBroken] of cases) {
    it(name, () => expect(judge(settled, end)?.isBroken).to.equal(isBroken));
  }

  it('compares the least of the first minutes with the least of the last', () => {
    expect(judge(100, 105)).to.include({ line: '100.0 → 105.0 MB (1.05-fold)' });
  });
});
