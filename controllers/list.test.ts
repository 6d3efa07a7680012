import { expect } from 'chai';

import { InvalidSettingFault } from '../pkg/config/index.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import { allLoops, chosenLoops, loopNames, secretLoops } from './list.js';

describe('the list of loops', () => {
  it('names every loop there is', () => {
    const made = [...allLoops(), ...secretLoops({} as SecretStore)];

    expect(made.map(({ name }) => name)).to.deep.equal(loopNames);
  });

  it('is chosen from by name', () => {
    expect(chosenLoops(undefined)).to.deep.equal(loopNames);
    expect(chosenLoops('scheduler,janitor')).to.deep.equal(['scheduler', 'janitor']);
    expect(() => chosenLoops('scheduler,nope')).to.throw(InvalidSettingFault, 'nope');
  });
});
