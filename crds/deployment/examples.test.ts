import { expect } from 'chai';

import { catalogue, entryOf, type RejectionCode } from '../rejections/index.js';
import { complaints, facts, limits } from './admit.fixture.js';
import { admitCreate } from './admit.js';

/** Codes whose examples need more of the world than this package can see. */
const ELSEWHERE: readonly string[] = ['image_not_found', 'registry_credential_store_unavailable'];

const isDocument = (example: unknown): example is Record<string, unknown> =>
  typeof example === 'object' && example !== null && 'image' in example;

const shown = (Object.keys(catalogue) as RejectionCode[])
  .filter(code => isDocument(entryOf(code).example) || isDocument(entryOf(code).mended))
  .filter(code => !ELSEWHERE.includes(code));

describe('examples on the reference pages', () => {
  it('cover the deployment', () => {
    expect(shown.length).to.be.at.least(20);
  });

  for (const code of shown) {
    const world = code === 'node_candidates_unresolvable' ? { nodes: [] } : facts;

    it(`${code}: the example earns it, and nothing else`, () => {
      expect(complaints(admitCreate(entryOf(code).example, world, limits)).map(([found]) => found)).to.deep.equal([
        code,
      ]);
    });

    it(`${code}: the mended example is accepted`, () => {
      expect(complaints(admitCreate(entryOf(code).mended, world, limits))).to.deep.equal([]);
    });
  }
});
