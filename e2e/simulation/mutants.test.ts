import { expect } from 'chai';

import { runScenario } from './scenario.js';
import { describeWorlds } from './worlds.js';

describe('the simulated worlds of make test', () => {
  it('take the same steps for the same seed', async () => {
    const [first, again, other] = [await runScenario(7), await runScenario(7), await runScenario(8)];

    expect(again).to.deep.equal(first);
    expect(other.hash).to.not.equal(first.hash);
  });
});

describeWorlds('quick');
