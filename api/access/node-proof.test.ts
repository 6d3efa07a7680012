import { expect } from 'chai';

import { ReplayWindow } from './node-proof.js';

const YEAR = 365 * 86_400_000;

describe('ReplayWindow', () => {
  it('admits each time once, and nothing as old as what it had to forget', () => {
    const window = new ReplayWindow();
    expect([window.admit(1_000, 1_000), window.admit(1_000, 1_001), window.admit(999, 1_001)]).to.deep.equal([
      true,
      false,
      true,
    ]);
    for (let at = 2_000; at < 8_000; at++) window.admit(at, 8_000);
    expect([window.admit(1_500, 8_000), window.admit(8_000, 8_000)]).to.deep.equal([false, true]);
  });

  it('goes on when the clock was years ahead and is set back, however many proofs follow', () => {
    const window = new ReplayWindow();
    for (let at = 0; at < 5_000; at++) window.admit(YEAR + at, YEAR + at);
    const admitted = Array.from({ length: 10_000 }, (_, at) => window.admit(at * 100, at * 100));

    expect(admitted.every(Boolean)).to.equal(true);
    expect(window.admit(999_900, 999_900)).to.equal(false);
    expect([window.isIdle(999_900), window.isIdle(2_000_000)]).to.deep.equal([false, true]);
  });
});
