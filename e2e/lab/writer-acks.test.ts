import { expect } from 'chai';

import { findOverlaps, readLives } from './writer-acks.js';

const life = (container: string, ...at: readonly number[]) => ({
  container,
  acknowledged: at.map((each, index) => ({ n: index + 1, at: each })),
});

describe('what writers acknowledge', () => {
  it('is read from whole lines, of each run by itself', () => {
    expect(readLives('a', 'found 7 whole\nstored 8 12.30\nstored 9 12.35\nstored 10 12.4')).to.deep.equal([
      {
        container: 'a',
        found: 7,
        isWhole: true,
        acknowledged: [
          { n: 8, at: 12_300 },
          { n: 9, at: 12_350 },
        ],
      },
    ]);
    const again = readLives('a', 'found 7 whole\nstored 8 12.30\nfound 8 broken\n');
    expect(again.map(({ found, isWhole }) => [found, isWhole])).to.deep.equal([
      [7, true],
      [8, false],
    ]);
    expect(readLives('a', '')).to.deep.equal([]);
  });

  it('is one after the other where each ends before the next begins', () => {
    expect(findOverlaps([life('b', 40, 50), life('a', 10, 20, 40), life('c'), life('d', 60)])).to.deep.equal([]);
  });

  it('overlaps where one goes on beside another, whichever is listed first', () => {
    const found = [{ containers: ['a', 'b'], records: 2, forMs: 30 }];
    expect(findOverlaps([life('a', 10, 45, 60), life('b', 30)])).to.deep.equal(found);
    expect(findOverlaps([life('b', 30), life('a', 10, 45, 60)])).to.deep.equal(found);
  });
});
