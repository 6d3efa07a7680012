import { join } from 'node:path';

import { systemRandom } from '../../pkg/clock/index.js';
import { loadSettings } from '../../pkg/config/index.js';
import { type CredentialPath, openSecretStore, type SecretState, type SecretStore } from '../../pkg/secrets/index.js';
import type { EtcdStore } from '../../pkg/store/index.js';
import type { ControlPlane } from './control-plane.js';

/** The embedded secrets store of a plane, opened behind the API server's back with the operator's own key. */
export class SecretsView {
  readonly store: EtcdStore;
  readonly secrets: SecretStore;

  private constructor(store: EtcdStore, secrets: SecretStore) {
    this.store = store;
    this.secrets = secrets;
  }

  static async open(plane: ControlPlane): Promise<SecretsView> {
    const store = plane.openStore();
    const { settings } = loadSettings({ environment: { MOORING_KEY_FILE: join(plane.folder, 'keys') } });
    return new SecretsView(store, await openSecretStore(settings, { store, random: systemRandom }));
  }

  /** Which versions there are. */
  async state(path: CredentialPath): Promise<SecretState> {
    const reading = await this.secrets.state(path);
    return reading.kind === 'found' ? reading.state : { last: 0 };
  }

  /** What a key holds in each version that can still be read. */
  async values(path: CredentialPath, key: string): Promise<ReadonlyMap<number, string>> {
    const { last } = await this.state(path);
    const values = new Map<number, string>();
    for (let version = 1; version <= last; version++) {
      const reading = await this.secrets.read(path, version);
      const secret = reading.kind === 'found' ? reading.document.get(key) : undefined;
      if (secret) values.set(version, secret.reveal());
    }
    return values;
  }

  async close(): Promise<void> {
    await this.secrets.close();
    await this.store.close();
  }
}
