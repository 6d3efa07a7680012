import { expect } from 'chai';

import { checkTenantRequest, checkTokenRequest } from './index.js';

const faults = (checked: ReturnType<typeof checkTokenRequest> | ReturnType<typeof checkTenantRequest>) =>
  checked.ok ? [] : checked.rejections.map(({ code, field }) => `${code} ${field}`);

describe('a request for a tenant', () => {
  const cases: ReadonlyArray<{ given: unknown; found: string[] }> = [
    { given: { name: 'shop' }, found: [] },
    { given: {}, found: ['field_invalid name'] },
    { given: { name: 'Shop' }, found: ['field_invalid name'] },
    { given: { name: 'a'.repeat(64) }, found: ['field_invalid name'] },
    { given: { name: 'shop\n' }, found: ['field_invalid name'] },
    { given: { name: 'shop', platform: true }, found: ['field_unknown platform'] },
    { given: null, found: ['field_invalid body'] },
  ];
  for (const { given, found } of cases) {
    it(`${JSON.stringify(given)} → ${found[0] ?? 'accepted'}`, () => {
      expect(faults(checkTenantRequest(given))).to.deep.equal(found);
    });
  }
});

describe('a request for a token', () => {
  it('asks for the least when it says nothing', () => {
    const announced = (field: string, to: unknown) => ({ field, from: null, to, why: 'default' });
    expect(checkTokenRequest({})).to.deep.equal({
      ok: true,
      value: {
        kind: 'tenant',
        role: 'viewer',
        description: '',
        expiresInSeconds: 90 * 86_400,
        alterations: [
          announced('kind', 'tenant'),
          announced('role', 'viewer'),
          announced('expiresInSeconds', 90 * 86_400),
        ],
      },
    });
    expect(checkTokenRequest({ kind: 'admin' })).to.deep.equal({
      ok: true,
      value: {
        kind: 'admin',
        description: '',
        expiresInSeconds: 43_200,
        alterations: [announced('expiresInSeconds', 43_200)],
      },
    });
  });

  const tenant = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';
  const cases: ReadonlyArray<{ given: unknown; found: string[] }> = [
    { given: { role: 'deployer', tenant, description: 'ci', expiresInSeconds: 60 }, found: [] },
    { given: { expiresInSeconds: 365 * 86_400 }, found: [] },
    { given: { expiresInSeconds: 365 * 86_400 + 1 }, found: ['field_invalid expiresInSeconds'] },
    { given: { kind: 'admin', expiresInSeconds: 31 * 86_400 }, found: ['field_invalid expiresInSeconds'] },
    { given: { expiresInSeconds: 59 }, found: ['field_invalid expiresInSeconds'] },
    { given: { expiresInSeconds: 60.5 }, found: ['field_invalid expiresInSeconds'] },
    { given: { kind: 'node' }, found: ['field_invalid kind'] },
    { given: { kind: 'admin', role: 'admin' }, found: ['field_invalid role'] },
    { given: { kind: 'admin', tenant }, found: ['field_invalid tenant'] },
    { given: { role: 'root' }, found: ['field_invalid role'] },
    { given: { tenant: 'shop' }, found: ['field_invalid tenant'] },
    { given: { description: 'x'.repeat(201) }, found: ['field_invalid description'] },
    { given: { rule: 'viewer' }, found: ['field_unknown rule'] },
    { given: [], found: ['field_invalid body'] },
    { given: null, found: ['field_invalid body'] },
    { given: 'admin', found: ['field_invalid body'] },
  ];
  for (const { given, found } of cases) {
    it(`${JSON.stringify(given)} → ${found[0] ?? 'accepted'}`, () => {
      expect(faults(checkTokenRequest(given))).to.deep.equal(found);
    });
  }
});
