import { existsSync } from 'node:fs';

import { keys, ranges } from '../../../crds/keys/index.js';
import type { Random } from '../../clock/index.js';
import { type Change, encode, type Entry, type Revision, type Store, value } from '../../store/index.js';
import { SecretKeyringFault } from '../faults.js';
import { readKeyId } from './records.js';
import { loadSecretKeyring, openSecretKeyring, type SecretKeyring } from './secret-keyring.js';

/**
 * `keyrings/secrets`: the names of all keys that something in the store may be sealed with. A name is a digest, and says
 * nothing of its key.
 *
 * Every change that seals is guarded by this record and names its own key as the one that writes, so nothing is ever
 * sealed with a key that is not named here.
 */
export interface KeysInUse {
  /** The key that last sealed something. */
  readonly writing: string;
  readonly others: readonly string[];
}

/** The record as it stands. */
export interface KeysInUseReading {
  readonly revision: Revision;
  readonly names: readonly string[];
  readonly writing: string | undefined;
}

const KEY = keys.secretKeyring();

/** Reads which keys are in use. A store without the record is empty, or was sealed before there was one. */
export async function readKeysInUse(store: Store): Promise<KeysInUseReading> {
  const entry: Entry | undefined = await store.get(KEY);
  if (!entry) return { revision: 0, names: await namesOnRecords(store), writing: undefined };
  const { writing, others } = value<KeysInUse>(entry);
  return { revision: entry.revision, names: [writing, ...others], writing };
}

async function namesOnRecords(store: Store): Promise<readonly string[]> {
  const lists = await Promise.all([store.list(ranges.secrets), store.list(ranges.secretVersions)]);
  return [...new Set(lists.flatMap(({ entries }) => entries.flatMap(entry => readKeyId(entry) ?? [])))];
}

/** What a change that seals with the keyring's first key must carry. */
export function guardSealing({ writing }: SecretKeyring, seen: KeysInUseReading): Pick<Change, 'guards' | 'puts'> {
  const guards = [{ key: KEY, at: seen.revision }];
  if (seen.writing === writing.id) return { guards, puts: [] };
  return { guards, puts: [recordOf(writing.id, seen.names)] };
}

/** The change that says that nothing is sealed with any other key, unless somebody has sealed since it was seen. */
export function retireOtherKeys({ writing }: SecretKeyring, seen: KeysInUseReading): Change {
  return { guards: [{ key: KEY, at: seen.revision }], puts: [recordOf(writing.id, [])], deletes: [] };
}

function recordOf(writing: string, names: readonly string[]) {
  const record: KeysInUse = { writing, others: names.filter(name => name !== writing) };
  return { key: KEY, bytes: encode(record) };
}

/**
 * The keyring in a file, once it is certain that it opens what is in the store.
 *
 * It is made only for a store in which nothing was ever sealed. Anything else would be found out late: by a container
 * that cannot be made, or when the right keyring is back and half of the secrets are sealed with the wrong one.
 */
export async function openStoreKeyring(store: Store, file: string, random: Random): Promise<SecretKeyring> {
  for (;;) {
    const seen = await readKeysInUse(store);
    if (seen.names.length > 0) return fitting(file, seen.names);
    const keyring = openSecretKeyring(file, random);
    // Of two machines that make their own at the same time, one finds here that it came second.
    if ((await store.commit({ ...guardSealing(keyring, seen), deletes: [] })).stored) return keyring;
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
