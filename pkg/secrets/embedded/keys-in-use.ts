import { keys, ranges } from '../../../crds/keys/index.js';
import { type Change, encode, type Entry, type Revision, type Store, value } from '../../store/index.js';
import { keyIdOf } from './records.js';
import type { SecretKeyring } from './secret-keyring.js';

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
export interface SeenKeys {
  readonly revision: Revision;
  readonly names: readonly string[];
  readonly writing: string | undefined;
}

const KEY = keys.secretKeyring();

/** Reads which keys are in use. A store without the record is empty, or was sealed before there was one. */
export async function keysInUse(store: Store): Promise<SeenKeys> {
  const entry: Entry | undefined = await store.get(KEY);
  if (!entry) return { revision: 0, names: await namesOnRecords(store), writing: undefined };
  const { writing, others } = value<KeysInUse>(entry);
  return { revision: entry.revision, names: [writing, ...others], writing };
}

async function namesOnRecords(store: Store): Promise<readonly string[]> {
  const lists = await Promise.all([store.list(ranges.secrets), store.list(ranges.secretVersions)]);
  return [...new Set(lists.flatMap(({ entries }) => entries.flatMap(entry => keyIdOf(entry) ?? [])))];
}

/** What a change that seals with the keyring's first key must carry. */
export function sealedUnder({ writing }: SecretKeyring, seen: SeenKeys): Pick<Change, 'guards' | 'puts'> {
  const guards = [{ key: KEY, at: seen.revision }];
  if (seen.writing === writing.id) return { guards, puts: [] };
  return { guards, puts: [recordOf(writing.id, seen.names)] };
}

/** The change that says that nothing is sealed with any other key, unless somebody has sealed since it was seen. */
export function onlyUnder({ writing }: SecretKeyring, seen: SeenKeys): Change {
  return { guards: [{ key: KEY, at: seen.revision }], puts: [recordOf(writing.id, [])], deletes: [] };
}

function recordOf(writing: string, names: readonly string[]) {
  const record: KeysInUse = { writing, others: names.filter(name => name !== writing) };
  return { key: KEY, bytes: encode(record) };
}
