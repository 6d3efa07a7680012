import { createHash, createSecretKey, type KeyObject } from 'node:crypto';

import { KEY_BYTES, loadKeys, UnusableKeyFileFault } from '../../auth/index.js';

/** One key, with the name that records carry. */
export interface SealingKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * The keys that secrets are sealed with. The first one writes; all of them read, so a new one can be put in front and
 * `rekey` can run while the platform works.
 */
export class SecretKeyring {
  readonly writing: SealingKey;
  readonly #keys: ReadonlyMap<string, SealingKey>;

  constructor(keys: readonly Buffer[]) {
    const all = keys.map(sealingKey);
    if (!all[0])
      throw new UnusableKeyFileFault('a secrets keyring must have at least one key: restore the file from a backup');
    this.writing = all[0];
    this.#keys = new Map(all.map(key => [key.id, key]));
  }

  find(id: string): SealingKey | undefined {
    return this.#keys.get(id);
  }
}

/** Reads the keyring from a file of mode 0600, one base64 key of 32 bytes a line. */
export function loadSecretKeyring(path: string): SecretKeyring {
  return new SecretKeyring(loadKeys(path));
}

function sealingKey(bytes: Buffer): SealingKey {
  if (bytes.length !== KEY_BYTES)
    throw new UnusableKeyFileFault(`a key of the secrets keyring must be ${KEY_BYTES} bytes in base64`);
  const id = createHash('sha256').update('mooring.io/secrets/key-id\0').update(bytes).digest('hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}
