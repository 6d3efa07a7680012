import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { CertificateFolder } from '../../certificates/index.js';
import { systemClock } from '../../clock/index.js';
import { toCredentialPath } from '../credential-path.js';
import { toSecretDocument } from '../document.js';
import { SecretStoreUnavailableFault } from '../faults.js';
import { Secret } from '../secret.js';
import { FakeVault } from './fake-vault.testing.js';
import { VaultSecretStore } from './vault-secret-store.js';

const web = toCredentialPath('a2d1b2a0-0000-4000-8000-000000000001', 'deployments/web');

describe('vault secret store over TLS', () => {
  let folder: string;
  let vault: FakeVault;
  let authority: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-vault-tls-'));
    const issued = new CertificateFolder({ folder, authorityName: 'ca', now: Date.now });
    const { ca, cert, key } = issued.ensure('vault', ['127.0.0.1'], ['server']);
    authority = readFileSync(ca, 'utf8');
    vault = await FakeVault.start({ key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') });
  });
  after(async () => {
    await vault.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (ca?: string) =>
    new VaultSecretStore({
      address: vault.address,
      mount: 'mooring/{tenant}',
      login: { kind: 'token', token: () => new Secret('root') },
      clock: systemClock,
      ...(ca !== undefined && { ca }),
    });

  it('reads and writes when the certificate authority is trusted', async () => {
    const store = open(authority);
    expect(await store.write(web, { document: toSecretDocument({ a: '1' }), after: 0, as: 'current' })).to.include({
      kind: 'written',
    });
    expect(await store.read(web)).to.include({ kind: 'found' });
    await store.close();
  });

  it('sends nothing to a server with an untrusted certificate, and reports that nothing was changed', async () => {
    const store = open();
    const before = vault.seen.length;
    const write = store.write(web, { document: toSecretDocument({ a: '1' }), after: 1, as: 'current' });
    expect(await write.catch((thrown: unknown) => thrown)).to.be.instanceOf(SecretStoreUnavailableFault);
    expect(vault.seen).to.have.length(before);
    await store.close();
  });
});
