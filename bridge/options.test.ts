import { expect } from 'chai';

import { decideLease, nameLease } from './lease.js';
import { checkApart, readBridgeFlags, readNamespaces, readSecrets } from './options.js';

const TENANT = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';

describe('the options of the bridge', () => {
  it('name namespaces with their tenants, and secrets with their paths', () => {
    const flags = readBridgeFlags([
      '--namespace',
      `team=${TENANT}`,
      '--namespace',
      'lone',
      '--secret',
      'team/db=shop/db',
    ])!;
    const namespaces = readNamespaces(flags.namespace);
    expect(namespaces).to.deep.equal([
      { namespace: 'team', tenant: TENANT },
      { namespace: 'lone', tenant: undefined },
    ]);
    expect(readSecrets(flags.secret, namespaces)).to.deep.equal([{ namespace: 'team', name: 'db', path: 'shop/db' }]);
  });

  for (const argv of [
    [],
    ['--namespace', 'team=acme'],
    ['--namespace', 'Team'],
    ['--namespace', 'a', '--namespace', 'b'],
    ['--namespace', `a=${TENANT}`, '--namespace', `b=${TENANT}`],
    ['--namespace', 'a', '--resync', '0'],
    ['--namespace', 'a', '--bogus'],
    ['--namespace', 'a', 'more'],
    ['--namespace', 'a', '--secret', 'b/db=shop/db'],
    ['--namespace', 'a', '--secret', 'a/db'],
    ['--namespace', 'a', '--secret', 'a/db=../x'],
    ['--namespace', 'a', '--secret', 'a/db=shop/db', '--secret', 'a/db=shop/other'],
    ['--namespace', 'a', '--secret', 'a/db=shop/db', '--secret', 'a/other=shop/db'],
  ]) {
    it(`are refused: ${argv.join(' ') || 'none'}`, () => {
      const read = () => {
        const flags = readBridgeFlags(argv)!;
        readSecrets(flags.secret, readNamespaces(flags.namespace));
      };
      expect(read).to.throw();
    });
  }
});

it('two namespaces do not share the tenant of the token', () => {
  expect(() => checkApart(['a', 'b'].map(namespace => ({ namespace, tenant: TENANT })))).to.throw();
});

it('bridges share a lease when they mirror the same, in any order', () => {
  const [a, b] = ['a', 'b'].map(namespace => ({ namespace, tenant: `${TENANT}-${namespace}` })) as never[];
  expect(nameLease([a!, b!]))
    .to.equal(nameLease([b!, a!]))
    .and.match(/^mooring-bridge-[0-9a-f]{12}$/);
  expect(nameLease([a!])).to.not.equal(nameLease([a!, b!]));
});

describe('decideLease', () => {
  const lease = (holderIdentity: string) => ({
    metadata: { name: 'l' },
    spec: { holderIdentity, leaseDurationSeconds: 15 },
  });
  for (const [what, given, waitedMs, expected] of [
    ['takes one that nobody has made', undefined, 0, 'take'],
    ['takes one that was given back', lease(''), 0, 'take'],
    ['renews its own, however old', lease('me'), 60_000, 'renew'],
    ['waits while another may renew it', lease('you'), 14_999, 'wait'],
    ['takes one that was not renewed in its time', lease('you'), 15_000, 'take'],
  ] as const) {
    it(what, () => {
      expect(decideLease(given, 'me', { mark: '', at: 1_000 }, 1_000 + waitedMs)).to.equal(expected);
    });
  }
});
