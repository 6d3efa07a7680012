import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { InvalidSettingFault } from '../config/index.js';
import { addPlatformLogins, RegistryLogins } from './registry-logins.js';

describe('logins of the platform to registries', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-logins-'));
  const path = join(folder, 'config.json');
  const auth = Buffer.from('robot:se:same').toString('base64');
  after(() => rmSync(folder, { recursive: true }));
  beforeEach(() => writeFileSync(path, JSON.stringify({ auths: { 'registry.example.com:5000': { auth } } })));

  it('are found for the very registry that the file names', () => {
    const logins = new RegistryLogins(path);

    expect(logins.find('registry.example.com:5000')).to.deep.equal({ username: 'robot', password: 'se:same' });
    expect(logins.find('registry.example.com')).to.equal(undefined);
    expect(new RegistryLogins('').find('registry.example.com:5000')).to.equal(undefined);
  });

  it('are read again when the file was replaced', () => {
    const logins = new RegistryLogins(path);
    writeFileSync(path, '{}');

    expect(logins.find('registry.example.com:5000')).to.equal(undefined);
  });

  it('of a file that cannot be read are a fault that quotes nothing of it', () => {
    writeFileSync(path, `{"auths": ${auth}`);

    expect(() => new RegistryLogins(path)).to.throw(InvalidSettingFault, /cannot be read: it is not JSON$/);
    expect(() => new RegistryLogins(join(folder, 'none'))).to.throw(InvalidSettingFault, /ENOENT/);
  });

  it('are used for a tenant that has none of its own', async () => {
    const own = { username: 'tenant', password: 'own' };
    const credentials = addPlatformLogins(
      {
        credentialsFor: async tenant => (tenant === 'a' ? { kind: 'found', credential: own } : { kind: 'none' }),
      },
      new RegistryLogins(path),
    );
    const { signal } = new AbortController();
    const ask = (tenant: string, host: string) => credentials.credentialsFor(tenant, host, signal);

    expect(await ask('a', 'registry.example.com:5000')).to.deep.equal({ kind: 'found', credential: own });
    expect(await ask('b', 'registry.example.com:5000')).to.have.nested.property('credential.username', 'robot');
    expect(await ask('b', 'other.example.com')).to.deep.equal({ kind: 'none' });
  });
});
