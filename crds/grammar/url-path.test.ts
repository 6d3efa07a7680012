import { expect } from 'chai';
import fc from 'fast-check';

import { assertLinearCost } from '../../dev/testing/index.js';
import { findDotSegment } from './index.js';

describe('a dot segment of an address', () => {
  for (const [address, found] of [
    ['/api/v1/nodes/..', '..'],
    ['/api/v1/nodes/../tenants/t', '..'],
    ['/api/v1/nodes/.', '.'],
    ['/api/v1/nodes/%2E%2e/x?a=b', '..'],
    ['/api/v1/nodes/.%2e#x', '..'],
    ['/api/v1/nodes/..\\tenants', '..'],
    ['/api/v1/nodes\\..', '..'],
    ['/api/v1/nodes/.\n.', '..'],
    ['/api/v1/nodes/.\t./x', '..'],
    ['/api/v1/nodes/.. ', '..'],
    ['/api/v1/nodes/...', undefined],
    ['/api/v1/nodes/.a', undefined],
    ['/api/v1/nodes/a..', undefined],
    ['/api/v1/nodes/%252e%252e', undefined],
    ['/api/v1/files?path=/../x', undefined],
    ['/api/v1/files#/../x', undefined],
  ] as const) {
    it(`is ${found ?? 'none'} in ${JSON.stringify(address)}`, () => {
      expect(findDotSegment(address)).to.equal(found);
    });
  }

  it('is looked for in time that grows with the length of the address', async () => {
    for (const part of ['/..a', ' ', '/.a', '/%2e x']) {
      await assertLinearCost({
        size: 200_000,
        prepare: size => `/${part.repeat(size / part.length)}x`,
        run: address => void findDotSegment(address),
      });
    }
  });

  it('property: an address without one is read with all of its parts', () => {
    const part = fc.constantFrom('.', '..', '%2e', '%2E', '/', '\\', '\t', '\n', '\r', '?', '#', 'a', ' ', '%2f');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), parts => {
        const address = `/api/${parts.join('')}`;
        const { pathname } = new URL(address, 'http://localhost');
        const isWhole =
          /^[^?#]*/.exec(address)![0].replace(/[^/\\]/g, '').length === pathname.replace(/[^/]/g, '').length;
        if (findDotSegment(address) === undefined) expect(isWhole, address).to.equal(true);
      }),
    );
  });
});
