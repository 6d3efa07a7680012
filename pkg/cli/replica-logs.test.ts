import { expect } from 'chai';

import { countKnown, LogTail } from './replica-logs.js';

const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `line ${from + at}`);

describe('log tail', () => {
  for (const { what, again, printed, known } of [
    { what: 'all lines when nothing was printed meanwhile', again: numbered(0, 9), printed: numbered(0, 9), known: 9 },
    { what: 'all lines but the new ones', again: numbered(0, 12), printed: numbered(0, 9), known: 9 },
    { what: 'also lines before the first printed one', again: numbered(0, 12), printed: numbered(5, 9), known: 9 },
    { what: 'the overlap of both', again: numbered(7, 17), printed: numbered(0, 10), known: 3 },
    { what: 'no line of another log', again: ['a', 'b'], printed: numbered(0, 9), known: 0 },
    { what: 'no line of an empty log', again: [], printed: numbered(0, 9), known: 0 },
    {
      what: 'as many equal lines as were printed',
      again: Array(7).fill('.'),
      printed: Array(5).fill('.'),
      known: 5,
    },
  ]) {
    it(`recognises ${what}`, () => expect(countKnown(again, printed)).to.equal(known));
  }

  const lab = () => {
    const seen: string[] = [];
    const tail = new LogTail(line => seen.push(line));
    const read = (lines: readonly string[]) => lines.forEach(line => tail.read(line));
    return { seen, tail, read };
  };

  it('does not limit the request before a line was printed', () => {
    expect(lab().tail.resume()).to.equal(undefined);
  });

  it('prints every line once across a reconnect', () => {
    const { seen, tail, read } = lab();
    read(numbered(0, 5));
    expect(tail.resume()).to.equal(1_000);
    read(numbered(0, 8));
    expect(seen).to.have.length(5);
    tail.settle();
    read(numbered(8, 10));

    expect(seen).to.deep.equal(numbered(0, 10));
  });

  it('settles by itself after as many lines as it requested', () => {
    const { seen, tail, read } = lab();
    read(numbered(0, 3_000));
    tail.resume();
    read(numbered(2_600, 3_700));

    expect(seen).to.deep.equal(numbered(0, 3_700));
  });
});
