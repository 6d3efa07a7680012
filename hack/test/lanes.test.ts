import { expect } from 'chai';

import { runInLanes } from './lanes.js';

describe('work in lanes', () => {
  it('is never more at a time than there are lanes, and answers in its own order', async () => {
    let [now, most] = [0, 0];
    const begun: number[] = [];
    const work = [5, 1, 3, 1, 1].map((turns, number) => async () => {
      begun.push(number);
      most = Math.max(most, ++now);
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      now--;
      return number;
    });
    expect(await runInLanes(2, work)).to.deep.equal([0, 1, 2, 3, 4]);
    expect(begun).to.deep.equal([0, 1, 2, 3, 4]);
    expect(most).to.equal(2);
  });
});
