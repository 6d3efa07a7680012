import { expect } from 'chai';

import { isRising } from './raw-tail.js';

describe('cursors of a raw tail', () => {
  for (const { cursors, expected } of [
    { cursors: [], expected: true },
    { cursors: ['7.0', '7.1', '9.0', '10.0'], expected: true },
    { cursors: ['7.0', '7.0'], expected: false },
    { cursors: ['7.1', '7.0'], expected: false },
    { cursors: ['10.0', '9.0'], expected: false },
  ]) {
    it(`${cursors.join(' ')} ${expected ? 'rise' : 'do not rise'}`, () => expect(isRising(cursors)).to.equal(expected));
  }
});
