import { expect } from 'chai';

import { mergeLogLines, type ShownLogLine } from './log-lines.js';

const line = (id: number, at: string | null): ShownLogLine => ({ id, at, replica: 0, isError: false, text: `${id}` });
const ids = (lines: readonly ShownLogLine[]) => lines.map(({ id }) => id);

describe('lines of several logs', () => {
  it('are in the order of their times, and those of one time in the order in which they came', () => {
    const first = mergeLogLines([], [line(0, '10:01'), line(1, '10:03')]);
    expect(ids(mergeLogLines(first, [line(2, '10:00'), line(3, '10:03'), line(4, '10:02')]))).to.deep.equal([
      2, 0, 4, 1, 3,
    ]);
  });

  it('are left as they came while nothing is late', () => {
    const first = mergeLogLines([], [line(0, '10:01'), line(1, null)]);
    expect(ids(mergeLogLines(first, [line(2, '10:01'), line(3, '10:02')]))).to.deep.equal([0, 1, 2, 3]);
  });
});
