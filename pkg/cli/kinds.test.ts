import { expect } from 'chai';
import { Command } from 'commander';

import { gadgetKind } from '../../crds/kind/gadget.testing.js';
import { kinds } from '../../crds/kinds/index.js';
import { renderCompletion } from './commands/completion.js';
import { findKind } from './kinds.js';

describe('a kind that only has a descriptor, on the command line', () => {
  const known = [...kinds, gadgetKind];

  it('is listed under each of its names, with its columns', () => {
    const listed = findKind('gdg', known);
    expect(listed).to.include({ path: '/api/v1/gadgets', speaker: 'tenant' });
    expect(listed.columns.map(({ title }) => title)).to.deep.equal(['NAME', 'SIZE']);
    expect(listed.nameOf({ name: 'first' })).to.equal('first');
  });

  it('is offered by the completion', () => {
    expect(renderCompletion(new Command('moor'), known)).to.match(/choices="[a-z ]*\bgadgets\b/);
  });
});
