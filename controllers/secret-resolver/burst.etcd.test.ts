import { expect } from 'chai';

import { ResolverLab } from './resolver-lab.testing.js';

const REPLICAS = 250;
const CREDENTIALS = 20;

describe('secret resolver on a real etcd', () => {
  let lab: ResolverLab;

  before(async () => {
    lab = await ResolverLab.start(CREDENTIALS);
  });
  after(() => lab?.stop());

  it(`stamps each of ${REPLICAS} replicas that are created at once exactly once`, async () => {
    const uids = Array.from({ length: REPLICAS }, (_, number) => `r${number}`);
    await Promise.all(uids.map((uid, number) => lab.stamp(uid, number)));

    expect(lab.usedPaths.size).to.equal(CREDENTIALS);
    expect(uids.filter(uid => lab.stamps.get(uid) !== 1)).to.deep.equal([]);
  });
});
