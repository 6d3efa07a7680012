import { expect } from 'chai';

import { Explaining } from './explaining.js';

describe('explaining again', () => {
  it('is for small fleets at any time', () => {
    const explaining = new Explaining();
    for (let number = 0; number < 100; number++) expect(explaining.waitFor(`t/${number}`, 200, 0)).to.equal(0);
  });

  it('has each wait for its turn where there are many nodes, and takes a fifth of the time', () => {
    const explaining = new Explaining();
    const waits = ['a', 'b', 'c'].map(key => explaining.waitFor(key, 10_000, 0));
    expect(waits).to.deep.equal([0, 500, 1000]);
    expect(explaining.waitFor('b', 10_000, 200), 'who asks early keeps its turn').to.equal(300);
    expect(explaining.waitFor('b', 10_000, 500)).to.equal(0);
    expect(explaining.waitFor('b', 10_000, 500), 'and then waits for another').to.equal(1000);
  });

  it('forgets who no longer waits', () => {
    const explaining = new Explaining();
    explaining.waitFor('a', 10_000, 0);
    explaining.waitFor('b', 10_000, 0);
    explaining.forget('b');
    expect(explaining.waitFor('b', 10_000, 600)).to.equal(400);
  });
});
