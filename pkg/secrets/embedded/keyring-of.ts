import { existsSync } from 'node:fs';

import type { Random } from '../../clock/index.js';
import type { Store } from '../../store/index.js';
import { SecretKeyringFault } from '../faults.js';
import { keysInUse, sealedUnder } from './keys-in-use.js';
import { loadSecretKeyring, openSecretKeyring, type SecretKeyring } from './secret-keyring.js';

/**
 * The keyring in a file, once it is certain that it opens what is in the store.
 *
 * It is made only for a store in which nothing was ever sealed. Anything else would be found out late: by a container
 * that cannot be made, or when the right keyring is back and half of the secrets are sealed with the wrong one.
 */
export async function keyringOf(store: Store, file: string, random: Random): Promise<SecretKeyring> {
  for (;;) {
    const seen = await keysInUse(store);
    if (seen.names.length > 0) return fitting(file, seen.names);
    const keyring = openSecretKeyring(file, random);
    // Of two machines that make their own at the same time, one finds here that it came second.
    if ((await store.commit({ ...sealedUnder(keyring, seen), deletes: [] })).stored) return keyring;
  }
}

function fitting(file: string, names: readonly string[]): SecretKeyring {
  if (!existsSync(file)) throw new SecretKeyringFault(`there is no keyring at ${file}, ${SEALED} ${names.join(', ')}`);
  const keyring = loadSecretKeyring(file);
  const lacking = names.filter(name => !keyring.find(name));
  if (lacking.length === 0) return keyring;
  throw new SecretKeyringFault(`the keyring at ${file} is not the right one, ${SEALED} ${lacking.join(', ')}`);
}

const SEALED = 'and the secrets in the store need the key';
