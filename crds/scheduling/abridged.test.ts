import { expect } from 'chai';
import fc from 'fast-check';

import { abridged } from './abridged.js';
import { grouped, ungrouped } from './groups.js';
import { type Refused, refusal } from './refusal.js';

const node = fc.record({ name: fc.string(), required: fc.constantFrom('a', 'é'.repeat(40)), reported: fc.string() });
const nodes = fc
  .uniqueArray(node, { selector: ({ name }) => name, maxLength: 30 })
  .map(all =>
    all.map(
      ({ name, required, reported }): Refused => ({ node: name, reasons: [refusal('ready', required, reported)] }),
    ),
  );

describe('refusals for which there is little room', () => {
  it('property: take no more than there is, and name or count every node', () => {
    fc.assert(
      fc.property(nodes, fc.integer({ min: 2, max: 2000 }), (refused, bytes) => {
        const { groups, leftOut } = abridged(grouped(refused), bytes);
        expect(Buffer.byteLength(JSON.stringify(groups))).to.be.at.most(bytes);
        expect(ungrouped(groups).length + (leftOut?.nodes ?? 0)).to.equal(refused.length);
      }),
    );
  });

  it('are whole where there is room', () => {
    const groups = grouped([{ node: 'a', reasons: [refusal('ready', 'ready', 'failed')] }]);
    expect(abridged(groups, 1000)).to.deep.equal({ groups });
  });

  it('give up what nodes reported before the name of any', () => {
    const refused = ['a', 'b'].map(name => ({ node: name, reasons: [refusal('ready', 'ready', 'x'.repeat(500))] }));
    const { groups, leftOut } = abridged(grouped(refused), 500);
    expect(leftOut).to.deep.equal({ reported: true, nodes: 0 });
    expect(ungrouped(groups).map(each => [each.node, each.reasons[0]?.required])).to.deep.equal([
      ['a', 'ready'],
      ['b', 'ready'],
    ]);
  });
});
