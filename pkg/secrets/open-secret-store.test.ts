import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { ExposedKeyFileFault } from '../auth/index.js';
import { systemClock, systemRandom } from '../clock/index.js';
import { InvalidSettingFault, loadSettings } from '../config/index.js';
import { MemoryStore } from '../store/index.js';
import { toCredentialPath } from './credential-path.js';
import { toSecretDocument } from './document.js';
import { openSecretStore } from './open-secret-store.js';
import { FakeVault } from './vault/fake-vault.testing.js';

const web = toCredentialPath('a2d1b2a0-0000-4000-8000-000000000001', 'deployments/web');

describe('openSecretStore', () => {
  let folder: string;
  let store: MemoryStore;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-secrets-'));
    store = new MemoryStore({ clock: systemClock });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const open = (flags: Record<string, string>) =>
    openSecretStore(loadSettings({ environment: {}, flags: { keyFile: join(folder, 'keys'), ...flags } }).settings, {
      store,
      random: systemRandom,
    });
  const file = (name: string, text: string, mode = 0o600) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };

  it('makes the keyring of the embedded driver once, for its owner only', async () => {
    const write = { document: toSecretDocument({ a: '1' }), after: 0, as: 'current' } as const;
    await (await open({})).write(web, write);
    expect(statSync(join(folder, 'secret-keys')).mode & 0o777).to.equal(0o600);
    expect(await (await open({})).read(web)).to.have.property('kind', 'found');
  });

  describe('for Vault', () => {
    let vault: FakeVault;
    before(async () => {
      vault = await FakeVault.start();
    });
    after(() => vault.stop());
    const reading = async (flags: Record<string, string>) => {
      const secrets = await open({ secretsDriver: 'vault', vaultAddress: vault.address, ...flags });
      try {
        return await secrets.read(web);
      } catch (thrown) {
        return thrown;
      } finally {
        await secrets.close();
      }
    };

    it('logs in with a token file', async () => {
      expect(await reading({ vaultTokenFile: file('token', 'root\n') })).to.have.property('kind', 'missing');
    });

    it('logs in with the files of a role', async () => {
      const files = { vaultRoleIdFile: file('role', 'role\n'), vaultSecretIdFile: file('id', 'secret-id\n') };
      expect(await reading(files)).to.have.property('kind', 'missing');
      expect(vault.logins).to.equal(1);
    });

    it('refuses a file that others can read', async () => {
      expect(await reading({ vaultTokenFile: file('open', 'root', 0o644) })).to.be.instanceOf(ExposedKeyFileFault);
    });
  });

  const refused: readonly [string, Record<string, string>][] = [
    ['a driver that does not exist', { secretsDriver: 'paper' }],
    ['no address', { secretsDriver: 'vault', vaultTokenFile: 'x' }],
    ['no way to log in', { secretsDriver: 'vault', vaultAddress: 'http://127.0.0.1:1' }],
    ['a mount of all', { secretsDriver: 'vault', vaultAddress: 'http://127.0.0.1:1', vaultMount: 'secret' }],
  ];
  for (const [name, flags] of refused) {
    it(`refuses settings with ${name}`, async () => {
      const thrown: unknown = await open(flags).catch((fault: unknown) => fault);
      expect(thrown).to.be.instanceOf(InvalidSettingFault);
    });
  }
});
