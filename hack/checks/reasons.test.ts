import { expect } from 'chai';

import { reasons } from '../../crds/reasons/index.js';
import { rotationPhases } from '../../crds/rotation/index.js';
import { filters } from '../../pkg/placement/index.js';
import { findUnusedReasons } from './reasons.js';

const find = (text: string, path = 'controllers/x.ts') =>
  findUnusedReasons([{ path, text }] as unknown as Parameters<typeof findUnusedReasons>[0], ['known']);

describe('verify: reasons', () => {
  it('finds one that nothing gives', () => {
    expect(find(`return { reason: 'known' };`)).to.deep.equal([]);
    expect(find(`draft('deployment.known')`)).to.deep.equal([]);
    expect(find(`return { reason: 'other' };`)).to.have.length(1);
    expect(find(`return { reason: 'known' };`, 'controllers/x.test.ts'), 'in a test').to.have.length(1);
    expect(find(`return { reason: 'known' };`, 'crds/reasons/x.ts'), 'in the table').to.have.length(1);
  });

  it('have a remedy for every filter that refuses a node', () => {
    expect(filters.filter(({ name }) => reasons[name].remedy === undefined)).to.deep.equal([]);
  });

  it('explain every phase of a rotation, which its events give', () => {
    expect(rotationPhases.filter(word => !Object.hasOwn(reasons, word))).to.deep.equal([]);
  });

  it('have a sentence each, and a remedy that names commands that exist', () => {
    for (const [word, { meaning, remedy }] of Object.entries(reasons)) {
      expect(meaning, word).to.match(/^[A-Z].*\.$/);
      if (remedy !== undefined) expect(remedy, word).to.match(/^["A-Z].*\.$/);
    }
  });
});
