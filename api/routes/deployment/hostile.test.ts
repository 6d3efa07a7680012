import { expect } from 'chai';

import { assertLinearCost } from '../../../dev/testing/index.js';
import { ApiLab } from '../../api-lab.testing.js';
import { hostileBodies } from './hostile.testing.js';

describe('hostile documents over HTTP', () => {
  const lab = new ApiLab({ settings: { rateLimitPerSecond: 1e9 } });
  let token: string;
  before(async () => {
    await lab.start();
    token = await lab.tenantToken(lab.a);
  });
  after(() => lab.stop());

  const send = async (raw: string) => {
    const { status } = await lab.ask('POST', '/api/v1/deployments', { token, raw });
    return status;
  };

  for (const [name, { size, make }] of Object.entries(hostileBodies)) {
    it(`refuses ${name} at a cost in proportion to its size, and stores nothing`, async () => {
      const before = await lab.store.revision();
      expect(await send(make(size))).to.be.within(400, 422);
      await assertLinearCost({ size, prepare: make, run: send });
      expect(await lab.store.revision()).to.equal(before);
    });
  }
});
