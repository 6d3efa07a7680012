import { expect } from 'chai';

import { type FieldCondition, isBroken, toCel } from './relation.js';

describe('a relation of fields', () => {
  const cases: readonly (readonly [FieldCondition, cel: string, broken: readonly object[], kept: readonly object[]])[] =
    [
      [{ has: 'a' }, '!has(self.a)', [{ a: 0 }, { a: '' }], [{}, { a: null }, { a: undefined }]],
      [
        { isEmpty: 'a' },
        '!(!has(self.a) || size(self.a) == 0)',
        [{}, { a: null }, { a: [] }],
        [{ a: ['x'] }, { a: 'x' }],
      ],
      [
        { field: 'a', isOneOf: ['x', 1] },
        '!(has(self.a) && (self.a == "x" || self.a == 1))',
        [{ a: 'x' }, { a: 1 }],
        [{}, { a: '1' }, { a: 'y' }],
      ],
      [
        { field: 'a', isOneOf: [0], byDefault: 0 },
        '!(!has(self.a) || self.a == 0)',
        [{}, { a: 0 }, { a: null }],
        [{ a: 1 }],
      ],
      [{ field: 'a', isOneOf: [0], byDefault: 1 }, '!(has(self.a) && (self.a == 0))', [{ a: 0 }], [{}, { a: 1 }]],
      [{ field: 'a', isAbove: 2 }, '!(has(self.a) && self.a > 2)', [{ a: 3 }], [{}, { a: 2 }, { a: '3' }]],
      [
        { all: [{ has: 'a' }, { not: { has: 'b' } }] },
        '!(has(self.a) && !has(self.b))',
        [{ a: 1 }],
        [{}, { b: 1 }, { a: 1, b: 1 }],
      ],
    ];
  for (const [forbidden, cel, broken, kept] of cases) {
    it(`is judged, and written in CEL: ${cel}`, () => {
      const relation = { field: 'a', forbidden, wanted: 'something else' };
      expect(toCel(relation)).to.equal(cel);
      for (const object of broken) expect(isBroken(relation, { ...object }), JSON.stringify(object)).to.equal(true);
      for (const object of kept) expect(isBroken(relation, { ...object }), JSON.stringify(object)).to.equal(false);
    });
  }
});
