import { expect } from 'chai';

import { parseFigures } from './against.js';

describe('the comparison of two checkouts', () => {
  it('reads the first figure of each line of the table, and whether a larger one is better', () => {
    const output = [
      'measuring w1, 1 rounds; load average 0.1',
      '',
      "ok     W1     0.61  (0.61–0.61; floor ≥ 0.55, target ≥ 0.75)  POST of a deployment, over etcd's own limit (Go)",
      '                4321/s against 7084/s of 1 + 2 bytes; 0 answers that were not 201',
      'FAILED W1b    3.20  (3.20–3.20; floor ≤ 3, target ≤ 1.5)  the same: p99 over etcd’s own p99',
      '                12.5 ms against 3.9 ms',
      '1 passed, 1 failed',
    ].join('\n');
    expect(parseFigures(output).map(({ workload, isLargerBetter, value }) => [workload, isLargerBetter, value])).to.eql(
      [
        ['W1', true, 4321],
        ['W1b', false, 12.5],
      ],
    );
  });
});
