import { expect } from 'chai';

import { measureServerCut } from './server-cut.js';

describe('an API server that is cut off from etcd', function () {
  this.timeout(180_000);

  it('takes writes again after the network has healed, though etcd was compacted meanwhile', async () => {
    const result = await measureServerCut({ cutMs: 5_000, giveUpAfterMs: 60_000 });
    if (process.env['MOORING_TEST_LOGS'] !== undefined) console.log(result);
    expect(result.operations).to.be.greaterThan(1);
    expect(result.resumedAfterMs).to.be.greaterThan(0);
  });
});
