import { expect } from 'chai';

import { listAddressPools } from './address-pools.js';

describe('the address pools of engines', () => {
  const pools = listAddressPools('/tmp/a/engine');

  it('are the whole range for each, the same ones every time', () => {
    expect(new Set(pools.map(({ base }) => base)).size).to.equal(256);
    expect(listAddressPools('/tmp/a/engine')).to.deep.equal(pools);
  });

  it('begin at different places for different engines', () => {
    const begun = Array.from({ length: 20 }, (_, number) => listAddressPools(`/tmp/${number}/engine`)[0]?.base);
    expect(new Set(begun).size).to.be.greaterThan(10);
  });
});
