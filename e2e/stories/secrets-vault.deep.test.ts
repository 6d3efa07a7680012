import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { NO_VAULT, RealVault, vaultProgram } from '../../pkg/secrets/vault/real-vault.testing.js';
import { createCanary, findLeaks } from '../lab/canary.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { RotationClient, TenantClient, unwrap } from '../lab/tenant-client.js';

const PATH = 'deployments/web-db';

describe('secrets in a real secrets server', function () {
  if (vaultProgram === undefined) {
    it(NO_VAULT);
    return;
  }
  const program = vaultProgram;
  const passwords = [createCanary('first'), createCanary('second')] as const;
  let folder: string;
  let vault: RealVault;
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let image: string;

  before(async () => {
    vault = await RealVault.start(program);
    folder = await mkdtemp(join(tmpdir(), 'mooring-vault-'));
    const files = { roleId: join(folder, 'role-id'), secretId: join(folder, 'secret-id') };
    await writeFile(files.roleId, vault.role.roleId, { mode: 0o600 });
    await writeFile(files.secretId, vault.role.secretId, { mode: 0o600 });
    plane = await ControlPlane.start({
      MOORING_SECRETS_DRIVER: 'vault',
      MOORING_VAULT_ADDRESS: vault.address,
      MOORING_VAULT_ROLE_ID_FILE: files.roleId,
      MOORING_VAULT_SECRET_ID_FILE: files.secretId,
    });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    await vault.mount(shop.id);
    await fleet.enrol(shop.client, 'shop-1');
    image = await fleet.image('1');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
    await vault?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const inContainers = async () => {
    const running = await fleet.view.running('web');
    const environments = await Promise.all(running.map(({ id }) => fleet.view.environment(id)));
    return environments.map(({ DB_password }) => DB_password);
  };

  it('are written there, and reach the containers', async () => {
    const body = { values: { password: passwords[0].value } };
    unwrap(await shop.client.request('PUT', `/api/v1/secrets/${PATH}`, { body }));
    const secrets = [{ name: 'DB', vault_path: PATH, anchor: 'process' }];
    await shop.apply({ name: 'web', image, replicas: 2, secrets });
    await shop.reaches('web', 'Running');
    expect(await inContainers()).to.deep.equal([passwords[0].value, passwords[0].value]);
  });

  it('are rotated there: the old version is destroyed, and the containers have the new one', async () => {
    const rotation = new RotationClient(shop, 'web');
    await rotation.advance('stage', { values: { password: passwords[1].value } });
    for (const phase of ['promote', 'verify', 'retire']) await rotation.advance(phase);
    expect(await inContainers()).to.deep.equal([passwords[1].value, passwords[1].value]);
    const { data } = await vault.operate(`mooring/${shop.id}/metadata/${PATH}`);
    const { versions } = data as unknown as { versions: Record<string, { destroyed: boolean }> };
    expect(Object.entries(versions).map(([number, { destroyed }]) => [number, destroyed])).to.deep.equal([
      ['1', true],
      ['2', false],
    ]);
  });

  it('are found nowhere but there and in the engine', async () => {
    expect(await findLeaks(plane, passwords)).to.deep.equal([]);
    await shop.remove('web');
  });
});
