import { expect } from 'chai';

import { cutToWidth, planDraw } from './live-area.js';

const ESC = '\u001b';
const size = { width: 10, height: 5 };

describe('the live area of a terminal', () => {
  const cuts: readonly (readonly [string, string, number, string])[] = [
    ['a line that fits', 'abc', 5, 'abc'],
    ['a line that just fits', 'abcde', 5, 'abcde'],
    ['a longer one', 'abcdef', 5, 'abcd…'],
    ['colours, which take no room', `${ESC}[31mabcde${ESC}[39m`, 5, `${ESC}[31mabcde${ESC}[39m`],
    ['colours that a cut would leave on', `${ESC}[31mabcdef${ESC}[39m`, 5, `${ESC}[31mabcd…${ESC}[0m`],
    ['characters of two columns', '日本語', 5, '日本…'],
  ];
  for (const [name, line, width, cut] of cuts) {
    it(`cuts ${name}`, () => expect(cutToWidth(line, width)).to.equal(cut));
  }

  it('draws below what is there, then over itself', () => {
    expect(planDraw(0, ['a', 'b'], size)).to.deep.equal({ text: `\ra${ESC}[K\nb${ESC}[K\n${ESC}[J`, rows: 2 });
    expect(planDraw(2, ['c'], size)).to.deep.equal({ text: `${ESC}[2A\rc${ESC}[K\n${ESC}[J`, rows: 1 });
  });

  it('never takes more rows than the terminal has', () => {
    const { text, rows } = planDraw(0, ['1', '2', '3', '4', '5', '6'], size);
    expect(rows).to.equal(4);
    expect(text).to.contain('3').and.to.contain('… 3 more').and.not.to.contain('5');
  });
});
