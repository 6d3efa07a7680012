import { ranges, segmentsOf } from '../../../crds/keys/index.js';
import type { Random } from '../../clock/index.js';
import { ConflictFault, type Entry, replace, type Store } from '../../store/index.js';
import { type CredentialPath, credentialPath } from '../credential-path.js';
import { UnreadableSecretFault } from '../faults.js';
import { headKey, headRecord, isUnderWritingKey, openVersion, readHead, sealVersion, versionKey } from './records.js';
import type { SecretKeyring } from './secret-keyring.js';

/** What re-sealing came to, in records: heads and versions. */
export interface Rekeyed {
  readonly rewritten: number;
  readonly unchanged: number;
  /** Keys of credentials that could not be read, and were left as they are. */
  readonly unreadable: readonly string[];
}

export interface RekeyOptions {
  readonly store: Store;
  readonly keyring: SecretKeyring;
  readonly random: Random;
}

const ATTEMPTS = 8;

/**
 * Seals everything anew that is not sealed with the keyring's first key. Afterwards, when nothing was unreadable and
 * every process has the new keyring, the other keys can be removed from it. May run while the platform works, be
 * stopped at any point, and be run again.
 */
export async function rekeySecrets(options: RekeyOptions): Promise<Rekeyed> {
  const sum = { rewritten: 0, unchanged: 0, unreadable: [] as string[] };
  for (const { key } of (await options.store.list(ranges.secrets)).entries) {
    const [tenant = '', namespace = '', label = ''] = segmentsOf(key);
    try {
      const { rewritten, unchanged } = await rekeyOne(options, credentialPath(tenant, `${namespace}/${label}`));
      sum.rewritten += rewritten;
      sum.unchanged += unchanged;
    } catch (thrown) {
      if (!(thrown instanceof UnreadableSecretFault)) throw thrown;
      sum.unreadable.push(key);
    }
  }
  return sum;
}

/** One credential, begun anew whenever somebody changes it meanwhile. */
async function rekeyOne(options: RekeyOptions, path: CredentialPath): Promise<Omit<Rekeyed, 'unreadable'>> {
  let rewritten = 0;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const round = await rekeyRound(options, path);
    rewritten += round.rewritten;
    if (round.settled) return { rewritten, unchanged: round.records - rewritten };
  }
  throw new ConflictFault(headKey(path), ATTEMPTS);
}

async function rekeyRound({ store, keyring, random }: RekeyOptions, path: CredentialPath) {
  const entry = await store.get(headKey(path));
  if (!entry) return { settled: true, records: 0, rewritten: 0 };
  const head = readHead(keyring, path, entry);
  let rewritten = 0;
  let settled = true;
  const count = (stored: boolean) => (stored ? rewritten++ : (settled = false));

  for (const version of head.live) {
    const record = await store.get(versionKey(path, version));
    if (!record) {
      settled = false;
      await checkChanged(store, entry);
    } else if (!isUnderWritingKey(keyring, record)) {
      const of = { path, uid: head.uid, version };
      const sealed = sealVersion(keyring, random, of, openVersion(keyring, of, record));
      count((await replace(store, record, sealed)).stored);
    }
  }
  if (!isUnderWritingKey(keyring, entry)) {
    count((await replace(store, entry, headRecord(keyring, path, head))).stored);
  }
  return { settled, records: head.live.length + 1, rewritten };
}

/** A version that is gone was destroyed meanwhile, unless the head still promises it. */
async function checkChanged(store: Store, { key, revision }: Entry): Promise<void> {
  if ((await store.get(key))?.revision === revision)
    throw new UnreadableSecretFault(`${key} names a version that is not there`);
}
