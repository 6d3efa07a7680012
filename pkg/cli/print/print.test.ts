import { expect } from 'chai';
import fc from 'fast-check';
import { parse } from 'yaml';

import { formatDocument, stripControls, stripLogControls } from './text.js';
import { formatSpan } from '../../../crds/grammar/index.js';
import { formatTable } from './table.js';

describe('printing', () => {
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
    it(`formats ${ms} ms as ${text}`, () => expect(formatSpan(ms)).to.equal(text));
  }

  it('keeps every line of a table within the width', () => {
    const cell = fc.string({ maxLength: 60 }).map(text => ({ text }));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 }),
        fc.integer({ min: 40, max: 120 }),
        (rows, width) => {
          const lines = formatTable(['A', 'B', 'C'], rows, width).split('\n');

          expect(lines).to.have.length(rows.length + 2);
          expect(Math.max(...lines.map(line => line.length))).to.be.at.most(width);
        },
      ),
    );
  });

  it('does not cut a table without a width', () => {
    expect(formatTable(['A'], [[{ text: 'x'.repeat(500) }]])).to.equal(`A\n${'x'.repeat(500)}\n`);
  });

  /** Clears the screen, sets the title by C1, adds a line three ways, and turns the order of letters. */
  const HOSTILE = 'a\u001b[2Jb\u009d0;title\u009cc\r\nd\u2028e\u0085f\u202eg\u007fh';
  const CONTROL = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

  it('replaces what would control the terminal', () => {
    expect(stripControls(HOSTILE)).to.equal('a [2Jb 0;title c d e f g h');
    expect(stripLogControls(`x\ty\u001b[31mz`)).to.equal('x\ty [31mz');
    expect(formatTable(['A'], [[HOSTILE]]).split('\n')).to.have.length(3);
  });

  for (const format of ['json', 'yaml'] as const) {
    it(`escapes it in ${format}, which reads back as it was`, async () => {
      const document = { [HOSTILE]: { deep: [HOSTILE, 'two\nlines'] }, tabs: 'a\tb' };
      const text = await formatDocument(document, format);

      expect(text).to.not.match(CONTROL);
      expect(format === 'json' ? JSON.parse(text) : parse(text)).to.deep.equal(document);
    });
  }
});
