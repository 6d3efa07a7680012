import { dirname, join } from 'node:path';

import { type Clock, type Random, systemClock } from '../clock/index.js';
import { InvalidSettingFault, type Settings } from '../config/index.js';
import type { Store } from '../store/index.js';
import { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
import { openSecretKeyring } from './embedded/secret-keyring.js';
import type { SecretStore } from './secret-store.js';
import { openVaultStore } from './vault/open-vault-store.js';

/** What the drivers stand on. */
export interface OpenSecretStoreEnv {
  readonly store: Store;
  readonly random: Random;
  readonly clock?: Clock;
}

/** The secrets store that the settings name. */
export function openSecretStore(
  settings: Settings,
  { store, random, clock = systemClock }: OpenSecretStoreEnv,
): SecretStore {
  const { secretsDriver, secretsKeyFile, keyFile, secretsNamespaces: granted } = settings;
  if (secretsDriver === 'embedded') {
    const path = secretsKeyFile || join(dirname(keyFile), 'secret-keys');
    return new EmbeddedSecretStore({ store, random, granted, keyring: openSecretKeyring(path, random) });
  }
  if (secretsDriver === 'vault') return openVaultStore(settings, clock);
  throw new InvalidSettingFault(`setting "secretsDriver": there is no driver "${secretsDriver}"`);
}
