import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { readPrivateFile } from '../auth/index.js';
import { type Clock, type Random, systemClock } from '../clock/index.js';
import { InvalidSettingFault, type Settings } from '../config/index.js';
import type { Store } from '../store/index.js';
import { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
import { openStoreKeyring } from './embedded/keys-in-use.js';
import type { SecretStore } from './secret-store.js';
import { Secret } from './secret.js';
import type { VaultLogin } from './vault/vault-session.js';

export interface OpenSecretStoreEnv {
  readonly store: Store;
  readonly random: Random;
  readonly clock?: Clock;
}

/** Opens the secrets store that the settings name. Throws when the keyring does not fit the secrets in the store. */
export async function openSecretStore(
  settings: Settings,
  { store, random, clock = systemClock }: OpenSecretStoreEnv,
): Promise<SecretStore> {
  const { secretsDriver, secretsNamespaces: granted } = settings;
  if (secretsDriver === 'embedded') {
    const keyring = await openStoreKeyring(store, findSecretsKeyringFile(settings), random);
    return new EmbeddedSecretStore({ store, random, granted, keyring });
  }
  if (secretsDriver === 'vault') return openVaultStore(settings, clock);
  throw new InvalidSettingFault(
    `setting "secretsDriver": there is no driver "${secretsDriver}"; use "embedded" or "vault"`,
  );
}

export function findSecretsKeyringFile({ secretsKeyFile, keyFile }: Settings): string {
  return secretsKeyFile || join(dirname(keyFile), 'secret-keys');
}

/** The secrets store on the Vault or OpenBao server that the settings name. It connects with the first call. */
async function openVaultStore(settings: Settings, clock: Clock): Promise<SecretStore> {
  const { vaultAddress: address, vaultMount: mount, vaultNamespace, vaultLoginNamespace, vaultCaFile } = settings;
  if (address === '')
    throw new InvalidSettingFault('setting "vaultAddress": the vault driver needs the address of the server');
  if (!mount.includes('{tenant}') && !vaultNamespace.includes('{tenant}')) {
    throw new InvalidSettingFault(
      'setting "vaultMount": it must contain {tenant}, because tenants must not share a mount',
    );
  }
  const login = readLogin(settings);
  const { VaultSecretStore } = await import('./vault/vault-secret-store.js'); // for this driver only: its client of HTTP is large
  return new VaultSecretStore({
    address,
    mount,
    clock,
    login,
    timeoutMs: settings.vaultTimeoutMs,
    ...(vaultNamespace !== '' && { namespace: vaultNamespace }),
    ...(vaultLoginNamespace !== '' && { loginNamespace: vaultLoginNamespace }),
    ...(vaultCaFile !== '' && { ca: readFileSync(vaultCaFile, 'utf8') }),
  });
}

function readLogin(settings: Settings): VaultLogin {
  const { vaultTokenFile, vaultRoleIdFile, vaultSecretIdFile, vaultAppRoleMount: mount } = settings;
  if (vaultTokenFile !== '') return { kind: 'token', token: () => readSecretFile(vaultTokenFile) };
  if (vaultRoleIdFile === '' || vaultSecretIdFile === '') {
    throw new InvalidSettingFault(
      'set "vaultTokenFile", or both "vaultRoleIdFile" and "vaultSecretIdFile": the vault driver needs credentials',
    );
  }
  const roleId = () => readSecretFile(vaultRoleIdFile);
  return { kind: 'approle', roleId, secretId: () => readSecretFile(vaultSecretIdFile), mount };
}

function readSecretFile(path: string): Secret {
  return new Secret(readPrivateFile(path).trim());
}
