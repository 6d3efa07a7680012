import { expect } from 'chai';
import fc from 'fast-check';

import { assertLinearCost } from '../../dev/testing/index.js';
import { parseChallenges } from './challenge.js';

describe('challenges of a registry', () => {
  const table: ReadonlyArray<readonly [header: string, ...read: readonly [string, Record<string, string>][]]> = [
    ['Basic realm="x"', ['basic', { realm: 'x' }]],
    ['Negotiate', ['negotiate', {}]],
    [
      'Bearer realm="https://a/token",service="s",scope="repository:a/b:pull,push"',
      ['bearer', { realm: 'https://a/token', service: 's', scope: 'repository:a/b:pull,push' }],
    ],
    ['BEARER REALM="x" , Service=s', ['bearer', { realm: 'x', service: 's' }]],
    ['Bearer realm="a\\"b\\\\c"', ['bearer', { realm: 'a"b\\c' }]],
    ['Bearer realm="a", Basic realm="b"', ['bearer', { realm: 'a' }], ['basic', { realm: 'b' }]],
    ['Negotiate, Basic realm="b"', ['negotiate', {}], ['basic', { realm: 'b' }]],
    ['Bearer realm = "a"', ['bearer', { realm: 'a' }]],
    ['Bearer realm="a", realm="b"', ['bearer', { realm: 'b' }]],
    ['Bearer realm="unfinished', ['bearer', {}]],
    [''],
    ['="x"'],
    [`Bearer realm="${'x'.repeat(5000)}"`],
  ];
  for (const [header, ...read] of table) {
    it(`reads ${header.slice(0, 60)}`, () => {
      const challenges = parseChallenges(header).map(({ scheme, params }) => [scheme, Object.fromEntries(params)]);
      expect(challenges).to.deep.equal(read);
    });
  }

  it('are empty without a header', () => {
    expect(parseChallenges(undefined)).to.deep.equal([]);
  });

  it('never throw, whatever the header', () => {
    const unit = fc.constantFrom(...'Bearer ="\\,\t;x'.split(''));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 200 }), header => void parseChallenges(header)),
      { numRuns: 2000 },
    );
  });

  for (const bait of [' ', ',', 'a ', '"', '\\', 'a=', 'a="', 'a=b,', 'a="b",']) {
    it(`reads many ${JSON.stringify(bait)} at a cost in proportion to their number`, async () => {
      await assertLinearCost({ size: 4096, prepare: size => bait.repeat(size / bait.length), run: parseChallenges });
      const prepare = (size: number) => `Bearer ${bait.repeat(size / bait.length)}!`;
      await assertLinearCost({ size: 4000, prepare, run: parseChallenges });
    });
  }
});
