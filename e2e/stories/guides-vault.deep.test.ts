import { execFileSync } from 'node:child_process';
import { rmSync, statSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { expect } from 'chai';

import { toEnvironment } from '../../pkg/config/index.js';
import { NO_VAULT, RealVault, vaultProgram } from '../../pkg/secrets/vault/real-vault.testing.js';
import { ControlPlane } from '../lab/control-plane.js';
import { openGuideFolder, readGuideSettings, runGuide, type StagedBlock } from '../lab/guide.js';
import { TenantClient } from '../lab/tenant-client.js';

const FILE = 'how-to/vault.md';
const TENANT = '<tenant id>';
/** Stands for the user of the units, who is not the one that runs the commands. */
const USER = 'nobody';

describe('the commands of the guide of Vault and OpenBao, from the page', () => {
  if (vaultProgram === undefined) {
    it(NO_VAULT);
    return;
  }
  const program = vaultProgram;
  const { cwd, env } = openGuideFolder();
  let vault: RealVault;
  let plane: ControlPlane;
  let shop: TenantClient;

  before(async () => {
    symlinkSync(resolve(program), join(cwd, 'bin/vault'));
    vault = await RealVault.startEmpty(program);
  });
  after(async () => {
    await plane?.stop();
    await vault?.stop();
    rmSync(cwd, { recursive: true, force: true });
  });

  /** The control plane with the settings of the page, once its commands have made what these name. */
  const startPlane = async ({ run, shell }: StagedBlock) => {
    await run();
    const { vaultRoleIdFile, vaultSecretIdFile, ...settings } = readGuideSettings(FILE);
    const place = (path = '') => path.replace('/etc/mooring', cwd);
    const uid = Number(execFileSync('id', ['-u', USER], { encoding: 'utf8' }));
    for (const file of [vaultRoleIdFile, vaultSecretIdFile]) {
      expect(statSync(place(file)), file).to.include({ uid, mode: 0o100600 });
    }
    plane = await ControlPlane.start(
      toEnvironment({
        ...settings,
        vaultAddress: vault.address,
        vaultRoleIdFile: place(vaultRoleIdFile),
        vaultSecretIdFile: place(vaultSecretIdFile),
      }),
    );
    shop = await TenantClient.open(plane, 'shop');
    await shell.run(`export MOORING_SERVER=${plane.server} MOORING_TOKEN=${shop.token}`);
  };

  it('a server is prepared, and secrets are kept there', async () => {
    const printed = await runGuide(
      FILE,
      { cwd, env: { ...env, ...vault.environment } },
      {
        replacements: { '/etc/mooring': cwd, 'chown mooring:': `chown ${USER}:` },
        around: {
          'vault-role-id': startPlane,
          'vault secrets enable': async ({ commands, shell }) => {
            await shell.run(commands.replace(TENANT, shop.id));
            await vault.mounted(shop.id);
          },
        },
      },
    );
    expect(printed).to.match(/password/);
    const { data } = await vault.operate(`mooring/${shop.id}/metadata/deployments/web-db`);
    expect(data).to.include({ current_version: 1 });
  });
});
