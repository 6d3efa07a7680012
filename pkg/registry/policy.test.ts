import { expect } from 'chai';
import fc from 'fast-check';

import { InvalidSettingFault } from '../config/index.js';
import { parseHost } from './image-location.js';
import { type AddressClass, classifyAddress, findRealm, mayCheck, mayConnect, parseRegistryPolicy } from './policy.js';
import { safeSettings, splitIntoWords } from './registry-lab.testing.js';

const host = (text: string) => parseHost(text)!;

describe('policy of registries', () => {
  const policy = parseRegistryPolicy({
    ...safeSettings,
    registryInsecure: ['127.0.0.1:7071', 'Lab.example:5000'],
    registryRealms: ['registry.example.com=auth.example.com', 'registry.example.com=127.0.0.1:7071'],
  });

  it('lets every host be asked when none is listed', () => {
    expect(mayCheck(policy, host('anything.example'))).to.equal(true);
  });

  const listed: ReadonlyArray<readonly [string, boolean]> = [
    ['registry.example.com', true],
    ['registry.example.com:443', false],
    ['a.registry.example.com', false],
    ['registry.example.com.evil.example', false],
    ['127.0.0.1:7071', true],
    ['127.0.0.1:7072', false],
  ];
  for (const [text, allowed] of listed) {
    it(`${allowed ? 'lets' : 'does not let'} ${text} be asked when some are listed`, () => {
      expect(mayCheck({ ...policy, allow: new Set(['registry.example.com']) }, host(text))).to.equal(allowed);
    });
  }

  const addresses: ReadonlyArray<readonly [string, readonly string[], boolean]> = [
    ['a.example', ['8.8.8.8'], true],
    ['a.example', ['8.8.8.8', '10.0.0.1'], false],
    ['lab.example:5000', ['10.0.0.1', '8.8.8.8'], true],
    ['lab.example:5000', ['127.0.0.1'], true],
    ['lab.example:5000', ['169.254.169.254'], false],
    ['lab.example:5001', ['10.0.0.1'], false],
  ];
  for (const [text, found, allowed] of addresses) {
    it(`${allowed ? 'connects' : 'does not connect'} to ${text} at ${found.join(' and ')}`, () => {
      expect(mayConnect(policy, host(text), found)).to.equal(allowed);
    });
  }

  const realms: ReadonlyArray<readonly [registry: string, realm: string, allowed: boolean]> = [
    ['registry.example.com', 'https://registry.example.com/token', true],
    ['registry.example.com', 'https://registry.example.com:443/token', true],
    ['registry.example.com', 'https://auth.example.com/token', true],
    ['registry.example.com', 'http://auth.example.com/token', false],
    ['registry.example.com', 'http://registry.example.com/token', false],
    ['registry.example.com', 'https://auth.example.com:8443/token', false],
    ['registry.example.com', 'https://auth.example.com.evil.example/token', false],
    ['registry.example.com', 'http://127.0.0.1:7071/token', true],
    ['registry.example.com:5000', 'https://registry.example.com/token', false],
    ['other.example.com', 'https://auth.example.com/token', false],
    ['127.0.0.1:7071', 'http://127.0.0.1:7071/token', true],
    ['127.0.0.1:7071', 'http://127.0.0.1:2379/', false],
    ['127.0.0.1:7071', 'http://lab.example:5000/', false],
    ['registry.example.com', 'https://a@registry.example.com/', false],
    ['registry.example.com', 'ftp://registry.example.com/', false],
    ['registry.example.com', 'no url', false],
  ];
  for (const [registry, realm, allowed] of realms) {
    it(`${allowed ? 'takes' : 'does not take'} a token for ${registry} from ${realm}`, () => {
      expect(findRealm(policy, host(registry), realm) !== undefined).to.equal(allowed);
    });
  }

  const unusable = [
    { registryAllow: ['https://a.example'] },
    { registryInsecure: ['127.1'] },
    { registryRealms: ['a.example'] },
    { registryRealms: ['=a.example'] },
    { registryDefault: 'a b' },
  ];
  for (const settings of unusable) {
    it(`refuses ${JSON.stringify(settings)}`, () => {
      expect(() => parseRegistryPolicy({ ...safeSettings, ...settings })).to.throw(InvalidSettingFault);
    });
  }
});

describe('class of an address', () => {
  const table: Readonly<Record<AddressClass, readonly string[]>> = {
    public: splitIntoWords(`
      1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
      169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
      2606:4700::1111 2a00::1 2001:200::`),
    private: splitIntoWords(`
      10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255 172.16.0.0 172.31.255.255
      192.168.0.0 192.168.255.255 ::1 fc00:: fdff:ffff::1 0:0:0:0:0:0:0:1`),
    special: splitIntoWords(`
      0.0.0.0 0.255.255.255 169.254.0.0 169.254.169.254 192.0.0.8 192.0.2.1 192.88.99.1 198.18.0.0 198.19.255.255
      198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::ffff:8.8.8.8 ::ffff:127.0.0.1
      ::ffff:7f00:1 ::127.0.0.1 ::8.8.8.8 64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1
      4000::1 fe80::1 fec0::1 ff02::1 fe80::1%lo a.b 127.1 2130706433 0x7f.0.0.1`),
  };
  for (const [name, addresses] of Object.entries(table)) {
    for (const address of addresses) {
      it(`takes "${address}" for ${name}`, () => {
        expect(classifyAddress(address)).to.equal(name);
      });
    }
  }

  it('never classifies an address that embeds another as public', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom('::ffff:', '::', '64:ff9b::'), (address, clothes) => {
        expect(classifyAddress(`${clothes}${address}`)).to.not.equal('public');
      }),
      { numRuns: 1000 },
    );
  });
});
