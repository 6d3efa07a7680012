import { ranges, splitKey } from '../../../crds/keys/index.js';
import type { Random } from '../../clock/index.js';
import { type Entry, replace, type Store } from '../../store/index.js';
import { type CredentialPath, toCredentialPath } from '../credential-path.js';
import { UnreadableSecretFault } from '../faults.js';
import { readKeysInUse, retireOtherKeys, guardSealing, type KeysInUseReading } from './keys-in-use.js';
import {
  buildHeadKey,
  buildHeadRecord,
  isSealedWithWritingKey,
  openVersion,
  readHead,
  sealVersion,
  buildVersionKey,
} from './records.js';
import type { SecretKeyring } from './secret-keyring.js';

/** A credential that no key of the keyring opens. */
export interface UnreadableCredential {
  readonly tenant: string;
  /** `<namespace>/<label>`. */
  readonly path: string;
  readonly reason: string;
}

/**
 * The result of re-sealing.
 *
 * - `done`: everything is sealed with the first key; the others may be removed.
 * - `unreadable`: some credentials cannot be opened; all others are done.
 * - `contested`: another process keeps sealing with another key.
 * - `stopped`: it was aborted.
 */
export interface RekeyResult {
  readonly outcome: 'done' | 'unreadable' | 'contested' | 'stopped';
  /** Heads and versions that were sealed again. */
  readonly rewritten: number;
  readonly unreadable: readonly UnreadableCredential[];
  /** Names of keys that no record is sealed with any more. */
  readonly retired: readonly string[];
}

export interface RekeyOptions {
  readonly store: Store;
  readonly keyring: SecretKeyring;
  readonly random: Random;
  /** Destroys credentials that cannot be opened. */
  readonly discardUnreadable?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (looked: number, all: number) => void;
}

/** How often all credentials are visited when another process seals with another key meanwhile. */
const PASSES = 3;

/**
 * Re-seals every record that is not sealed with the keyring's first key. It may run while the platform works, be stopped
 * at any point, and be run again: finished work stays finished.
 */
export async function rekeySecrets(options: RekeyOptions): Promise<RekeyResult> {
  const { store, keyring } = options;
  let rewritten = 0;
  const sum = (more: Omit<RekeyResult, 'rewritten' | 'retired'>): RekeyResult => ({ rewritten, retired: [], ...more });
  for (let attempt = 1; attempt <= PASSES; attempt++) {
    const seen = await claim(options);
    const pass = await rekeyAll(options);
    rewritten += pass.rewritten;
    if (pass.isStopped) return sum({ outcome: 'stopped', unreadable: pass.unreadable });
    if (pass.unreadable.length > 0) return sum({ outcome: 'unreadable', unreadable: pass.unreadable });
    // Fails when a record was sealed with another key since the pass began: the pass may have missed it.
    if ((await store.commit(retireOtherKeys(keyring, seen))).stored) {
      const retired = seen.names.filter(name => name !== keyring.writing.id);
      return { outcome: 'done', rewritten, unreadable: [], retired };
    }
  }
  return sum({ outcome: 'contested', unreadable: [] });
}

/** Names our key as the writing one. A process that seals with another key must change the record, and is noticed. */
async function claim({ store, keyring }: RekeyOptions): Promise<KeysInUseReading> {
  for (;;) {
    const seen = await readKeysInUse(store);
    if (seen.writing === keyring.writing.id) return seen;
    await store.commit({ ...guardSealing(keyring, seen), deletes: [] });
  }
}

async function rekeyAll(options: RekeyOptions) {
  const { entries } = await options.store.list(ranges.secrets);
  const unreadable: UnreadableCredential[] = [];
  let rewritten = 0;
  for (const [position, entry] of entries.entries()) {
    if (options.signal?.aborted) return { rewritten, unreadable, isStopped: true };
    const [tenant = '', namespace = '', label = ''] = splitKey(entry.key);
    const path = `${namespace}/${label}`;
    try {
      rewritten += await rekeyCredential(options, toCredentialPath(tenant, path));
    } catch (thrown) {
      if (!(thrown instanceof UnreadableSecretFault)) throw thrown;
      const isGone = options.discardUnreadable === true && (await discard(options.store, entry));
      if (!isGone) unreadable.push({ tenant, path, reason: thrown.message });
    }
    options.onProgress?.(position + 1, entries.length);
  }
  return { rewritten, unreadable, isStopped: false };
}

/** Re-seals one credential, and starts over when it is changed meanwhile. Returns how many records it has re-sealed. */
async function rekeyCredential(options: RekeyOptions, path: CredentialPath): Promise<number> {
  const { store, keyring, random } = options;
  const entry = await store.get(buildHeadKey(path));
  if (!entry) return 0;
  const head = readHead(keyring, path, entry);
  let rewritten = 0;
  let isChanged = false;
  const reseal = async (record: Entry, sealed: object) => {
    const { guards } = guardSealing(keyring, await claim(options));
    const { stored } = await replace(store, record, sealed, guards);
    if (stored) rewritten++;
    else isChanged = true;
  };

  for (const version of head.live) {
    const record = await store.get(buildVersionKey(path, version));
    const of = { path, uid: head.uid, version };
    if (!record) {
      isChanged = true;
      await checkChanged(store, entry);
    } else if (!isSealedWithWritingKey(keyring, record)) {
      await reseal(record, sealVersion(keyring, random, of, openVersion(keyring, of, record)));
    }
  }
  if (!isSealedWithWritingKey(keyring, entry)) await reseal(entry, buildHeadRecord(keyring, path, head));
  return isChanged ? rewritten + (await rekeyCredential(options, path)) : rewritten;
}

/** A missing version was destroyed meanwhile, unless the head still lists it. */
async function checkChanged(store: Store, { key, revision }: Entry): Promise<void> {
  if ((await store.get(key))?.revision === revision)
    throw new UnreadableSecretFault(`${key} lists a version whose record is missing`);
}

/** Destroys a credential without opening it. False when it was changed meanwhile. */
async function discard(store: Store, { key, revision }: Entry): Promise<boolean> {
  const [tenant = '', namespace = '', label = ''] = splitKey(key);
  const { entries } = await store.list(ranges.secretVersionsOf(tenant, namespace, label));
  const deletes = [key, ...entries.map(version => version.key)];
  return (await store.commit({ guards: [{ key, at: revision }], puts: [], deletes })).stored;
}
