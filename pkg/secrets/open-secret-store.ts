import { dirname, join } from 'node:path';

import { type Clock, type Random, systemClock } from '../clock/index.js';
import { InvalidSettingFault, type Settings } from '../config/index.js';
import type { Store } from '../store/index.js';
import { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
import { keyringOf } from './embedded/keyring-of.js';
import type { SecretStore } from './secret-store.js';
import { openVaultStore } from './vault/open-vault-store.js';

/** What the drivers stand on. */
export interface OpenSecretStoreEnv {
  readonly store: Store;
  readonly random: Random;
  readonly clock?: Clock;
}

/** The secrets store that the settings name. A keyring that does not open what is in the store is a fault. */
export async function openSecretStore(
  settings: Settings,
  { store, random, clock = systemClock }: OpenSecretStoreEnv,
): Promise<SecretStore> {
  const { secretsDriver, secretsNamespaces: granted } = settings;
  if (secretsDriver === 'embedded') {
    const keyring = await keyringOf(store, secretsKeyringFile(settings), random);
    return new EmbeddedSecretStore({ store, random, granted, keyring });
  }
  if (secretsDriver === 'vault') return openVaultStore(settings, clock);
  throw new InvalidSettingFault(`setting "secretsDriver": there is no driver "${secretsDriver}"`);
}

/** Where the keyring of the embedded driver is. */
export function secretsKeyringFile({ secretsKeyFile, keyFile }: Settings): string {
  return secretsKeyFile || join(dirname(keyFile), 'secret-keys');
}
