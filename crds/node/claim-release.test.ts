import { expect } from 'chai';

import { checkClaimRelease } from './index.js';

describe('release of a claim', () => {
  for (const header of [undefined, '', 'shop', '0b5c3a52', '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10, x']) {
    it(`is refused with the tenant ${JSON.stringify(header)}`, () => {
      const checked = checkClaimRelease(header);
      expect(checked.ok || checked.rejections.map(({ code, field, status }) => [code, field, status])).to.deep.equal([
        ['node_claim_release_no_tenant', 'X-Tenant-ID', 400],
      ]);
    });
  }

  it('names the tenant', () => {
    const checked = checkClaimRelease('0B5C3A52-8d0e-4a53-9d0c-4f3c6b6f2a10');
    expect(checked.ok && checked.value.tenant).to.equal('0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10');
  });
});
