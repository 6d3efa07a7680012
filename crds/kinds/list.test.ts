import { expect } from 'chai';

import { gadgetKind } from '../kind/gadget.testing.js';
import type { Kind } from '../kind/index.js';
import { kinds, sortForDeletion } from './index.js';

describe('the list of kinds', () => {
  it('names only kinds of the list as those that a kind uses', () => {
    const known = (kinds as readonly Kind[]).map(({ singular }) => singular);
    for (const { singular, uses = [] } of kinds as readonly Kind[])
      expect(known, singular).to.include.members([...uses]);
  });

  it('is sorted for deletion: every kind before those that it uses', () => {
    const gizmo: Kind = { ...gadgetKind, singular: 'gizmo', uses: ['gadget'] };
    const sorted = sortForDeletion([gadgetKind, ...kinds, gizmo]);
    const order = sorted.map(({ singular }) => singular);
    expect(order).to.have.members(['gadget', ...kinds.map(({ singular }) => singular), 'gizmo']);
    for (const { singular, uses = [] } of sorted)
      for (const used of uses)
        expect(order.indexOf(singular), `${singular} uses ${used}`).to.be.below(order.indexOf(used));
  });

  it('keeps its own order where nothing is used', () => {
    expect(
      sortForDeletion([gadgetKind, { ...gadgetKind, singular: 'gizmo' }]).map(({ singular }) => singular),
    ).to.deep.equal(['gadget', 'gizmo']);
  });

  it('ends also where two kinds use each other', () => {
    const one: Kind = { ...gadgetKind, singular: 'one', uses: ['two'] };
    const two: Kind = { ...gadgetKind, singular: 'two', uses: ['one'] };
    expect(sortForDeletion([one, two])).to.deep.equal([one, two]);
  });
});
