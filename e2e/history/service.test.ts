import { expect } from 'chai';

import type { HistoryRecord, WriteOutcome } from './records.js';
import { measureResume, measureWriteGap } from './service.js';

const write = (end: number, outcome: WriteOutcome = 'stored', process = 'a'): HistoryRecord => ({
  kind: 'write',
  process,
  begin: end - 1,
  end,
  writes: [],
  outcome,
});
const read = (end: number, isFromCache = false): HistoryRecord => ({
  kind: 'read',
  process: 'a',
  begin: end - 1,
  end,
  key: 'k',
  revision: 1,
  bytes: '{}',
  ...(isFromCache && { isFromCache }),
});

describe('what a history says about service', () => {
  it('counts until the last kind of it has come back, to the last client', () => {
    expect(measureResume([write(5), write(12), write(30), write(17, 'stored', 'b')], 10)).to.equal(7);
    expect(measureResume([read(5), read(11), read(14, true), write(12)], 10), 'reads of a cache').to.equal(4);
    expect(measureResume([write(11, 'failed'), write(13, 'unknown'), write(16)], 10), 'writes that failed').to.equal(6);
  });

  const gaps: readonly [string, readonly HistoryRecord[], number][] = [
    ['between two writes', [write(12), write(18), write(19)], 6],
    ['before the first', [write(17), write(19)], 7],
    ['after the last', [write(11), write(12)], 8],
    ['of the whole stretch, where nothing was stored', [write(5), write(15, 'failed'), write(25)], 10],
    ['which a write of any client ends', [write(14), write(17, 'stored', 'b')], 4],
  ];
  for (const [where, records, gap] of gaps)
    it(`finds the longest time without a stored write: ${where}`, () =>
      expect(measureWriteGap(records, 10, 20)).to.equal(gap));
});
