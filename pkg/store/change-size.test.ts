import { expect } from 'chai';

import { MAX_DOCUMENT_BYTES, splitIntoChanges } from './index.js';

describe('what is split into changes', () => {
  const split = (sizes: readonly number[], most = 20) => splitIntoChanges(sizes, size => size, most);
  const half = MAX_DOCUMENT_BYTES / 2;
  const cases: readonly (readonly [string, readonly number[], readonly (readonly number[])[]])[] = [
    ['is nothing where there is nothing', [], []],
    ['stays in one change while that is not too large', [half, half], [[half, half]]],
    ['goes into the next change with the byte that is too much', [half, half, 1], [[half, half], [1]]],
    ['is a change of its own where it is too large for any', [1, 3 * half, 1], [[1], [3 * half], [1]]],
  ];
  for (const [name, sizes, changes] of cases) it(name, () => expect(split(sizes)).to.deep.equal(changes));

  it('has at most so many in one change', () => {
    expect(split([1, 1, 1, 1, 1], 2)).to.deep.equal([[1, 1], [1, 1], [1]]);
  });
});
