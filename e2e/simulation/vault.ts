import type { ContainerSpec } from '../../pkg/agent/index.js';
import type { Random } from '../../pkg/clock/index.js';
import {
  type CredentialPath,
  EmbeddedSecretStore,
  type Reading,
  SecretKeyring,
  type SecretStore,
  SecretStoreUnavailableFault,
} from '../../pkg/secrets/index.js';
import type { Store } from '../../pkg/store/index.js';

/** The secrets store of a world, which can be away, and which remembers what was in which version. */
export class Vault {
  away = false;
  readonly #versions = new Map<string, number>();
  readonly #given = new Map<string, readonly string[]>();
  readonly #keyring = new SecretKeyring([Buffer.alloc(32, 1)]);

  /** A container was made from an order: what secrets it was given is known from now on. */
  delivered(id: string, { secrets }: ContainerSpec): void {
    if (this.#given.has(id)) return; // found under its name and adopted: it has what it was made with
    const values = [...(secrets?.values() ?? [])].map(secret => secret.reveal());
    this.#given.set(id, values);
  }

  /** The versions in a container; undefined for a container whose values were never read from here. */
  versionsIn(id: string): readonly (number | undefined)[] {
    return (this.#given.get(id) ?? []).map(value => this.#versions.get(value));
  }

  /** As one process reaches it: over its own wire to the store. */
  reachedOver(store: Store, random: Random): SecretStore {
    const inner = new EmbeddedSecretStore({ store, random, keyring: this.#keyring, granted: ['deployments'] });
    const reach = async <T>(act: () => Promise<T>): Promise<T> => {
      if (this.away) throw new SecretStoreUnavailableFault('the secrets store is away');
      return act();
    };
    return {
      read: (path, version) => reach(() => this.#read(inner, path, version)),
      state: path => reach(() => inner.state(path)),
      write: (path, version) => reach(() => inner.write(path, version)),
      promote: (...asked) => reach(() => inner.promote(...asked)),
      destroy: (...asked) => reach(() => inner.destroy(...asked)),
      delete: path => reach(() => inner.delete(path)),
      list: where => reach(() => inner.list(where)),
      close: () => inner.close(),
    };
  }

  async #read(inner: SecretStore, path: CredentialPath, version: number | undefined): Promise<Reading> {
    const reading = await inner.read(path, version);
    if (reading.kind === 'found') {
      for (const secret of reading.document.values()) this.#versions.set(secret.reveal(), reading.version);
    }
    return reading;
  }
}
