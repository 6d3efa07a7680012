import { expect } from 'chai';
import fc from 'fast-check';

import { abridgeGroups, groupRejections, type RejectedNode, toFilterRejection, ungroupRejections } from './index.js';

const reason = fc
  .record({
    filter: fc.constantFrom('ready', 'residency', 'resources', 'port'),
    required: fc.constantFrom('ready', 'country DE', '500m cpu'),
    reported: fc.string(),
  })
  .map(({ filter, required, reported }) => toFilterRejection(filter, required, reported));
const nodes = fc.uniqueArray(
  fc.record({ node: fc.stringMatching(/^[a-z]{1,6}$/), reasons: fc.array(reason, { minLength: 1, maxLength: 3 }) }),
  { selector: ({ node }) => node, maxLength: 20 },
);

describe('grouped rejections', () => {
  it('property: lose nothing', () => {
    fc.assert(
      fc.property(nodes, refused => {
        const stored: unknown = JSON.parse(JSON.stringify(groupRejections(refused)));
        const byName = refused.toSorted((a, b) => (a.node < b.node ? -1 : 1));
        expect(ungroupRejections(stored as ReturnType<typeof groupRejections>)).to.deep.equal(byName);
      }),
    );
  });

  it('store once what nodes have in common', () => {
    const refused = ['a', 'b', 'c'].map(node => ({ node, reasons: [toFilterRejection('ready', 'ready', 'failed')] }));
    expect(groupRejections(refused)).to.deep.equal([
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

  it('store ten thousand nodes, each with its own figures, well below the limit of one etcd value', () => {
    const refused = Array.from({ length: 10_000 }, (_, position) => ({
      node: `machine-${String(position).padStart(6, '0')}`,
      reasons: [
        toFilterRejection('residency', 'country DE', 'country FR'),
        toFilterRejection(
          'resources',
          '500m cpu, 1024Mi memory',
          `${position % 500}m cpu free, ${position}Mi memory free`,
        ),
      ],
    }));
    expect(JSON.stringify(groupRejections(refused)).length).to.be.below(1024 * 1024);
  });
});

const node = fc.record({ name: fc.string(), required: fc.constantFrom('a', 'é'.repeat(40)), reported: fc.string() });
const fewNodes = fc.uniqueArray(node, { selector: ({ name }) => name, maxLength: 30 }).map(all =>
  all.map(
    ({ name, required, reported }): RejectedNode => ({
      node: name,
      reasons: [toFilterRejection('ready', required, reported)],
    }),
  ),
);

describe('abridged rejections', () => {
  it('property: stay within the limit, and name or count every node', () => {
    fc.assert(
      fc.property(fewNodes, fc.integer({ min: 2, max: 2000 }), (refused, bytes) => {
        const { groups, leftOut } = abridgeGroups(groupRejections(refused), bytes);
        expect(Buffer.byteLength(JSON.stringify(groups))).to.be.at.most(bytes);
        expect(ungroupRejections(groups).length + (leftOut?.nodes ?? 0)).to.equal(refused.length);
      }),
    );
  });

  it('are complete when they fit', () => {
    const groups = groupRejections([{ node: 'a', reasons: [toFilterRejection('ready', 'ready', 'failed')] }]);
    expect(abridgeGroups(groups, 1000)).to.deep.equal({ groups });
  });

  it('drop what nodes reported before the name of any node', () => {
    const refused = ['a', 'b'].map(name => ({
      node: name,
      reasons: [toFilterRejection('ready', 'ready', 'x'.repeat(500))],
    }));
    const { groups, leftOut } = abridgeGroups(groupRejections(refused), 500);
    expect(leftOut).to.deep.equal({ reported: true, nodes: 0 });
    expect(ungroupRejections(groups).map(each => [each.node, each.reasons[0]?.required])).to.deep.equal([
      ['a', 'ready'],
      ['b', 'ready'],
    ]);
  });
});
