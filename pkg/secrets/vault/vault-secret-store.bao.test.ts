import { expect } from 'chai';

import { systemClock, systemRandom } from '../../clock/index.js';
import { toCredentialPath } from '../credential-path.js';
import { toSecretDocument } from '../document.js';
import { SecretStoreLoginFault, SecretStoreSealedFault } from '../faults.js';
import { Secret } from '../secret.js';
import { secretStoreContract } from '../secret-store.contract.js';
import { NO_VAULT, RealVault, vaultProgram } from './real-vault.testing.js';
import { VaultSecretStore } from './vault-secret-store.js';

const tenant = systemRandom.uuid();
const otherTenant = systemRandom.uuid();

describe('vault secret store on a real server', () => {
  if (vaultProgram === undefined) {
    it(NO_VAULT);
    return;
  }
  const program = vaultProgram;
  let vault: RealVault;
  let store: VaultSecretStore | undefined;

  const open = (roleId = vault.role.roleId) => {
    const secrets = { roleId: () => new Secret(roleId), secretId: () => new Secret(vault.role.secretId) };
    const login = { kind: 'approle', ...secrets } as const;
    return new VaultSecretStore({ address: vault.address, mount: 'mooring/{tenant}', login, clock: systemClock });
  };

  before(async () => {
    vault = await RealVault.start(program);
    for (const each of [tenant, otherTenant]) await vault.mount(each);
    store = open();
  });

  after(async () => {
    await store?.close();
    await vault?.stop();
  });

  secretStoreContract('vault secret store on a real server', () => ({
    store: store!,
    tenant,
    otherTenant,
    forbidden: toCredentialPath(tenant, 'platform/root'),
  }));

  // In a group of its own, for it runs after the contract: the last test seals the server.
  describe('operated', () => {
    it('does not reach a tenant without a mount', async () => {
      const nobody = toCredentialPath(systemRandom.uuid(), 'deployments/web');
      expect((await store!.read(nobody)).kind).to.be.oneOf(['forbidden', 'missing']);
    });

    it('logs in again when its token was revoked', async () => {
      const path = toCredentialPath(tenant, 'deployments/revoked');
      await store!.write(path, { document: toSecretDocument({ a: '1' }), after: 0, as: 'current' });
      await vault.operate('sys/leases/revoke-prefix/auth/approle/login', {});
      expect(await store!.read(path)).to.have.property('kind', 'found');
    });

    it('says that its role is refused', async () => {
      const refused = open('wrong');
      const thrown: unknown = await refused
        .read(toCredentialPath(tenant, 'deployments/x'))
        .catch((fault: unknown) => fault);
      expect(thrown).to.be.instanceOf(SecretStoreLoginFault);
      await refused.close();
    });

    it('reports that the server is sealed', async () => {
      await vault.operate('sys/seal', {});
      const thrown: unknown = await store!
        .read(toCredentialPath(tenant, 'deployments/x'))
        .catch((fault: unknown) => fault);
      expect(thrown).to.be.instanceOf(SecretStoreSealedFault);
    });
  });
});
