import { expect } from 'chai';

import { addressPools } from './address-pools.js';

describe('the address pools of engines', () => {
  const pools = addressPools('/tmp/a/engine');

  it('are the whole range for each, the same ones every time', () => {
    expect(new Set(pools.map(({ base }) => base)).size).to.equal(256);
    expect(addressPools('/tmp/a/engine')).to.deep.equal(pools);
  });

  it('begin at different places for different engines', () => {
    const begun = Array.from({ length: 20 }, (_, number) => addressPools(`/tmp/${number}/engine`)[0]?.base);
    expect(new Set(begun).size).to.be.greaterThan(10);
  });
});
