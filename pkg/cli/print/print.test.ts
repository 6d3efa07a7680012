import { expect } from 'chai';
import fc from 'fast-check';

import { span } from './age.js';
import { bytes, cores } from './quantity.js';
import { table } from './table.js';

describe('print', () => {
  for (const [ms, text] of [
    [-5, '0s'],
    [999, '0s'],
    [45_000, '45s'],
    [200_000, '3m20s'],
    [3_600_000, '1h'],
    [5_400_000, '1h30m'],
    [11 * 3_600_000 + 60_000, '11h'],
    [26 * 3_600_000, '1d2h'],
    [400 * 86_400_000, '400d'],
  ] as const) {
    it(`${ms} ms are ${text}`, () => expect(span(ms)).to.equal(text));
  }

  for (const [count, text] of [
    [0, '0B'],
    [1023, '1023B'],
    [1024, '1KiB'],
    [8_160_000_000, '7.6GiB'],
    [512 * 1024 ** 2, '512MiB'],
  ] as const) {
    it(`${count} bytes are ${text}`, () => expect(bytes(count)).to.equal(text));
  }

  it('counts cores', () => expect([2000, 500, 1255].map(cores)).to.deep.equal(['2', '0.5', '1.26']));

  it('keeps every line of a table within the width, whatever is in it', () => {
    const cell = fc.string({ maxLength: 60 }).map(text => ({ text }));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 }),
        fc.integer({ min: 40, max: 120 }),
        (rows, width) => {
          const lines = table(['A', 'B', 'C'], rows, width).split('\n');

          expect(lines).to.have.length(rows.length + 2);
          expect(Math.max(...lines.map(line => line.length))).to.be.at.most(width);
        },
      ),
    );
  });

  it('cuts nothing without a width', () => {
    expect(table(['A'], [[{ text: 'x'.repeat(500) }]])).to.equal(`A\n${'x'.repeat(500)}\n`);
  });
});
