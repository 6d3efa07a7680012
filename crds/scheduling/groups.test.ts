import { expect } from 'chai';
import fc from 'fast-check';

import { grouped, ungrouped } from './groups.js';
import { refusal } from './refusal.js';

const reason = fc
  .record({
    filter: fc.constantFrom('ready', 'residency', 'resources', 'port'),
    required: fc.constantFrom('ready', 'country DE', '500m cpu'),
    reported: fc.string(),
  })
  .map(({ filter, required, reported }) => refusal(filter, required, reported));
const nodes = fc.uniqueArray(
  fc.record({ node: fc.stringMatching(/^[a-z]{1,6}$/), reasons: fc.array(reason, { minLength: 1, maxLength: 3 }) }),
  { selector: ({ node }) => node, maxLength: 20 },
);

describe('refusals in groups', () => {
  it('property: lose nothing', () => {
    fc.assert(
      fc.property(nodes, refused => {
        const stored: unknown = JSON.parse(JSON.stringify(grouped(refused)));
        const byName = refused.toSorted((a, b) => (a.node < b.node ? -1 : 1));
        expect(ungrouped(stored as ReturnType<typeof grouped>)).to.deep.equal(byName);
      }),
    );
  });

  it('write down once what nodes have in common', () => {
    const refused = ['a', 'b', 'c'].map(node => ({ node, reasons: [refusal('ready', 'ready', 'failed')] }));
    expect(grouped(refused)).to.deep.equal([
      {
        refusals: [{ filter: 'ready', required: 'ready' }],
        nodes: [
          ['a', 'failed'],
          ['b', 'failed'],
          ['c', 'failed'],
        ],
      },
    ]);
  });

  it('keep ten thousand nodes, each with its own figures, well below what one value of etcd may hold', () => {
    const refused = Array.from({ length: 10_000 }, (_, position) => ({
      node: `machine-${String(position).padStart(6, '0')}`,
      reasons: [
        refusal('residency', 'country DE', 'country FR'),
        refusal('resources', '500m cpu, 1024Mi memory', `${position % 500}m cpu free, ${position}Mi memory free`),
      ],
    }));
    expect(JSON.stringify(grouped(refused)).length).to.be.below(1024 * 1024);
  });
});
