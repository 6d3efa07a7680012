import { expect } from 'chai';

import { describePull, isPullNews, type PullProgress, toPercent, type LastPullReport } from './pull.js';

const MIB = 2 ** 20;
const of = (received: number, total: number): PullProgress => ({
  receivedBytes: received * MIB,
  totalBytes: total * MIB,
});

describe('progress of a pull', () => {
  it('is told in bytes and whole percents, which are never more than there is', () => {
    expect(describePull(of(120, 300))).to.equal('120MiB of 300MiB (40 %)');
    expect([of(0, 0), of(2.99, 3), of(3, 3), of(4, 3)].map(toPercent)).to.deep.equal([0, 99, 100, 100]);
  });

  const cases: readonly (readonly [string, LastPullReport, PullProgress, number, boolean])[] = [
    ['a pull that has just begun', { at: 0 }, of(50, 100), 2_999, false],
    ['one that takes seconds', { at: 0 }, of(50, 100), 3_000, true],
    ['one of which no size is known', { at: 0 }, of(0, 0), 60_000, false],
    ['what was told a moment ago', { at: 0, progress: of(10, 100) }, of(90, 100), 4_999, false],
    ['a twentieth more', { at: 0, progress: of(10, 100) }, of(15, 100), 5_000, true],
    ['less than a twentieth more', { at: 0, progress: of(10, 100) }, of(14.9, 100), 600_000, false],
    ['a layer more, whose size was not known', { at: 0, progress: of(10, 100) }, of(15, 1000), 60_000, false],
  ];
  for (const [name, told, progress, now, isNews] of cases)
    it(`${isNews ? 'is' : 'is not'} worth a write for ${name}`, () => {
      expect(isPullNews(told, progress, now)).to.equal(isNews);
    });
});
