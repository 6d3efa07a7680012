import { expect } from 'chai';

import type { Kind } from '../kind/index.js';
import { gadgetKind } from '../kind/gadget.testing.js';
import { renderComponents, renderCrds, renderJsonSchemas } from './index.js';
import { findKindByName, kinds, listCountedRanges, listKindNames } from '../kinds/index.js';

describe('a kind that only has a descriptor', () => {
  const writable: Kind = { ...gadgetKind, operations: [...gadgetKind.operations, 'update'] };
  const known: readonly Kind[] = [...kinds, writable];

  it('is found by each of its names, in any case', () => {
    for (const name of ['gadget', 'Gadgets', 'GDG']) expect(findKindByName(name, known)).to.equal(writable);
  });

  it('has a JSON Schema, a custom resource definition, and components of bodies and answers', () => {
    expect(renderJsonSchemas(known)).to.include.keys('gadget.schema.json');
    expect(renderCrds(known)).to.include.keys('gadgets.mooring.io.yaml');
    expect(renderComponents(known)).to.include.keys('Gadget', 'GadgetChange', 'GadgetAnswer', 'GadgetAnswerList');
  });

  it('is counted by its records', () => {
    expect(listCountedRanges(known)).to.deep.include(['gadgets/', 'gadgets']);
  });
});

describe('the list of kinds', () => {
  const all: readonly Kind[] = kinds;
  /** Their keys do not begin with a tenant: their readers say which of them a caller may see. */
  const FILTERED = new Set(['tenants', 'tokens']);

  it('names every kind once', () => {
    const names = all.flatMap(listKindNames);
    expect(names).to.deep.equal([...new Set(names)]);
    const stored = all.flatMap(({ range, statusRange }) => [range, statusRange].filter(each => each !== undefined));
    expect(stored).to.deep.equal([...new Set(stored)]);
  });

  it('has what the routes and the tables of each kind need', () => {
    for (const { plural, path, range, keyParts, operations, columns } of all) {
      if (operations.length > 0) expect(path, `${plural}: path`).to.be.a('string');
      if (operations.includes('list')) expect(columns, `${plural}: columns`).not.to.deep.equal([]);
      if (operations.includes('list')) expect(range, `${plural}: range`).to.match(/^[a-z-]+\/$/);
      const isFiltered = FILTERED.has(plural);
      if (operations.includes('watch') && !isFiltered) expect(keyParts?.[0], `${plural}: watched`).to.equal('tenant');
    }
  });
});
