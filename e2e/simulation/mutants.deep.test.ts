import { expect } from 'chai';

import { readShare, takeShare } from '../../dev/testing/index.js';
import { mutants } from './mutants.js';
import { describeWorlds, findBroken, worlds } from './worlds.js';

describeWorlds('deep', takeShare(worlds, readShare()));

describe('a replica that stays where its data may not be', function () {
  this.timeout(0);
  const [mistake] = mutants.filter(({ pace }) => pace?.mix === 'residency');

  for (const seed of takeShare([1, 2, 3, 4, 5, 6, 7, 8], readShare()))
    it(`is noticed at every seed of its mix: ${seed}`, async () => expect(await findBroken(mistake!, seed)).to.exist);
});
