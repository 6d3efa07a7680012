import { expect } from 'chai';

import { InvalidSettingFault } from '../config/index.js';
import { parseHost } from './host.js';
import { mayAsk, mayConnect, realmOf, registryPolicy } from './policy.js';
import { safeSettings } from './registry-lab.testing.js';

const host = (text: string) => parseHost(text)!;

describe('policy of registries', () => {
  const policy = registryPolicy({
    ...safeSettings,
    registryInsecure: ['127.0.0.1:7071', 'Lab.example:5000'],
    registryRealms: ['registry.example.com=auth.example.com', 'registry.example.com=127.0.0.1:7071'],
  });

  it('lets every host be asked when none is listed', () => {
    expect(mayAsk(policy, host('anything.example'))).to.equal(true);
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
      expect(mayAsk({ ...policy, allow: new Set(['registry.example.com']) }, host(text))).to.equal(allowed);
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
      expect(realmOf(policy, host(registry), realm) !== undefined).to.equal(allowed);
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
      expect(() => registryPolicy({ ...safeSettings, ...settings })).to.throw(InvalidSettingFault);
    });
  }
});
