import { expect } from 'chai';

import { countKnown, LogTail } from './replica-logs.js';

const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `line ${from + at}`);

describe('the tail of a log', () => {
  for (const { what, again, printed, known } of [
    { what: 'everything, when nothing happened', again: numbered(0, 9), printed: numbered(0, 9), known: 9 },
    { what: 'all but the new', again: numbered(0, 12), printed: numbered(0, 9), known: 9 },
    { what: 'also what was never printed before it', again: numbered(0, 12), printed: numbered(5, 9), known: 9 },
    { what: 'what the two have in common', again: numbered(7, 17), printed: numbered(0, 10), known: 3 },
    { what: 'nothing of another log', again: ['a', 'b'], printed: numbered(0, 9), known: 0 },
    { what: 'nothing of an empty one', again: [], printed: numbered(0, 9), known: 0 },
    {
      what: 'as many as were printed of equal lines',
      again: Array(7).fill('.'),
      printed: Array(5).fill('.'),
      known: 5,
    },
  ]) {
    it(`knows ${what}`, () => expect(countKnown(again, printed)).to.equal(known));
  }

  const lab = () => {
    const seen: string[] = [];
    const tail = new LogTail(line => seen.push(line));
    const read = (lines: readonly string[]) => lines.forEach(line => tail.read(line));
    return { seen, tail, read };
  };

  it('asks for what it may be asked for until something was printed', () => {
    expect(lab().tail.resume()).to.equal(undefined);
  });

  it('prints every line once over a break', () => {
    const { seen, tail, read } = lab();
    read(numbered(0, 5));
    expect(tail.resume()).to.equal(1_000);
    read(numbered(0, 8));
    expect(seen).to.have.length(5);
    tail.settle();
    read(numbered(8, 10));

    expect(seen).to.deep.equal(numbered(0, 10));
  });

  it('settles by itself once it has read as much as it has asked for', () => {
    const { seen, tail, read } = lab();
    read(numbered(0, 3_000));
    tail.resume();
    read(numbered(2_600, 3_700));

    expect(seen).to.deep.equal(numbered(0, 3_700));
  });
});
