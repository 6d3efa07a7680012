import { existsSync } from 'node:fs';

import { keys, ranges } from '../../../crds/keys/index.js';
import { openKeys } from '../../auth/index.js';
import type { Random } from '../../clock/index.js';
import { type Change, encode, findRecordFault, type Revision, type Store, value } from '../../store/index.js';
import { SecretKeyringFault } from '../faults.js';
import { readKeyId } from './records.js';
import { loadSecretKeyring, SecretKeyring } from './secret-keyring.js';

/**
 * `keyrings/secrets`: the names of all keys that records in the store may be sealed with. A name is a digest and reveals
 * nothing about its key.
 *
 * Every transaction that seals is guarded by this record and names its own key as the writing one, so no record is ever
 * sealed with a key that is not named here.
 */
export interface KeysInUse {
  /** The key that last sealed something. */
  readonly writing: string;
  readonly others: readonly string[];
}

export interface KeysInUseReading {
  readonly revision: Revision;
  readonly names: readonly string[];
  readonly writing: string | undefined;
}

const KEY = keys.secretKeyring();

/** Reads which keys are in use. A store without the record is empty, or older than the record. */
export async function readKeysInUse(store: Store): Promise<KeysInUseReading> {
  const entry = await store.get(KEY);
  // Without a record that can be read, what is sealed says it.
  if (!entry || findRecordFault(entry) !== undefined) {
    return { revision: entry?.revision ?? 0, names: await readRecordKeyNames(store), writing: undefined };
  }
  const { writing, others } = value<KeysInUse>(entry);
  return { revision: entry.revision, names: [writing, ...others], writing };
}

async function readRecordKeyNames(store: Store): Promise<readonly string[]> {
  const lists = await Promise.all([store.list(ranges.secrets), store.list(ranges.secretVersions)]);
  return [...new Set(lists.flatMap(({ entries }) => entries.flatMap(entry => readKeyId(entry) ?? [])))];
}

/** The guards and puts of every transaction that seals with the keyring's first key. */
export function guardSealing({ writing }: SecretKeyring, seen: KeysInUseReading): Pick<Change, 'guards' | 'puts'> {
  const guards = [{ key: KEY, at: seen.revision }];
  if (seen.writing === writing.id) return { guards, puts: [] };
  return { guards, puts: [buildRecord(writing.id, seen.names)] };
}

/** The transaction that drops all other keys. It fails when another writer has sealed since the reading. */
export function retireOtherKeys({ writing }: SecretKeyring, seen: KeysInUseReading): Change {
  return { guards: [{ key: KEY, at: seen.revision }], puts: [buildRecord(writing.id, [])], deletes: [] };
}

function buildRecord(writing: string, names: readonly string[]) {
  const record: KeysInUse = { writing, others: names.filter(name => name !== writing) };
  return { key: KEY, bytes: encode(record) };
}

/**
 * Opens the keyring in a file, and checks that it fits the secrets in the store.
 *
 * A keyring is created only for a store without sealed records. A wrong one would otherwise be noticed late: by a
 * container that cannot be created, or when half of the secrets are sealed with the wrong key.
 */
export async function openStoreKeyring(store: Store, file: string, random: Random): Promise<SecretKeyring> {
  for (;;) {
    const seen = await readKeysInUse(store);
    if (seen.names.length > 0) return loadFittingKeyring(file, seen.names);
    const keyring = new SecretKeyring(openKeys(file, random));
    // Of two machines that create a keyring at the same time, the second one loses here.
    if ((await store.commit({ ...guardSealing(keyring, seen), deletes: [] })).stored) return keyring;
  }
}

function loadFittingKeyring(file: string, names: readonly string[]): SecretKeyring {
  if (!existsSync(file)) throw new SecretKeyringFault(`there is no keyring at ${file}, ${SEALED} ${names.join(', ')}`);
  const keyring = loadSecretKeyring(file);
  const lacking = names.filter(name => !keyring.find(name));
  if (lacking.length === 0) return keyring;
  throw new SecretKeyringFault(`the keyring at ${file} is not the right one, ${SEALED} ${lacking.join(', ')}`);
}

const SEALED = 'and the secrets in the store are sealed with the key';
