import { expect } from 'chai';

import type { Amounts } from './candidate.js';
import { GIB, inhabited, node, workload } from './candidates.fixture.js';
import { explainPlacement } from './explain.js';
import { freeWords } from './free-words.js';

describe('what is free on a node, in words', () => {
  const big = node('a', { capacity: { cpu: 2000, memory: 24 * GIB }, used: { cpu: 200, memory: GIB } });
  const small = node('b', { capacity: { cpu: 500, memory: GIB / 2 }, used: { cpu: 700, memory: GIB / 8 + 1 } });
  const table: readonly (readonly [string, typeof big, Partial<Amounts>, string])[] = [
    ['every kind that is requested', big, { cpu: 1, memory: 1 }, 'cpu 1.8 of 2, memory 23 of 24 GiB'],
    ['no kind that is not', big, { memory: 1 }, 'memory 23 of 24 GiB'],
    ['nothing where nothing is', big, {}, ''],
    [
      'never less than nothing, nor more than there is',
      small,
      { cpu: 1, memory: 1 },
      'cpu 0 of 0.5, memory 383.9 of 512 MiB',
    ],
  ];
  for (const [title, which, requests, words] of table) {
    it(`names ${title}`, () => {
      expect(freeWords(which, requests)).to.equal(words);
    });
  }

  it('says why a replica is where it is, without its own request', () => {
    const here = inhabited('a', { web: 1 }, { used: { cpu: 500, memory: 0 } });
    const { nodes } = explainPlacement(workload({ requests: { cpu: 500 } }), [here], []);

    expect(nodes[0]?.whyHere).to.contain('cpu 2 of 2');
  });
});
