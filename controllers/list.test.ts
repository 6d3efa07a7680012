import { expect } from 'chai';

import { InvalidSettingFault } from '../pkg/config/index.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import { createLoops, selectLoops, loopNames, createSecretLoops } from './list.js';

describe('the list of loops', () => {
  it('names every loop', () => {
    const made = [...createLoops(), ...createSecretLoops({} as SecretStore)];

    expect(made.map(({ name }) => name)).to.deep.equal(loopNames);
  });

  it('is filtered by name', () => {
    expect(selectLoops(undefined)).to.deep.equal(loopNames);
    expect(selectLoops('scheduler,janitor')).to.deep.equal(['scheduler', 'janitor']);
    expect(() => selectLoops('scheduler,nope')).to.throw(InvalidSettingFault, 'nope');
  });
});
