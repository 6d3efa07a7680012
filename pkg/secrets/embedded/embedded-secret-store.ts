import { defaultSecretLimits, type SecretLimits } from '../../../crds/secret/index.js';
import type { Random } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import { encode, type Entry, OutcomeUnknownFault, type Store, StoreUnavailableFault } from '../../store/index.js';
import type { CredentialPath } from '../credential-path.js';
import { checkDocument, isSameDocument } from '../document.js';
import { SecretOutcomeUnknownFault, SecretStoreUnavailableFault, UnreadableSecretFault } from '../faults.js';
import type {
  DestroyResult,
  Forbidden,
  Missing,
  PromoteResult,
  Reading,
  SecretStore,
  NewVersion,
  SecretWriteResult,
  StateReading,
} from '../secret-store.js';
import { noVersions, toSecretState, findSurplus, setCurrent, addVersion, removeVersion } from '../versions.js';
import { readKeysInUse, guardSealing } from './keys-in-use.js';
import {
  type CredentialHead,
  headKey,
  buildHeadRecord,
  openVersion,
  readHead,
  sealVersion,
  versionKey,
} from './records.js';
import type { SecretKeyring } from './secret-keyring.js';

export interface EmbeddedSecretStoreOptions {
  readonly store: Store;
  readonly keyring: SecretKeyring;
  readonly random: Random;
  /** The namespaces that the policy grants. All others are forbidden. */
  readonly granted: readonly string[];
  readonly limits?: SecretLimits;
  /** How many versions of a credential stay readable. */
  readonly keepVersions?: number;
}

const KEEP_VERSIONS = 10;
const ATTEMPTS = 8;
const forbidden: Forbidden = { kind: 'forbidden' };
const missing: Missing = { kind: 'missing' };

interface StoredHead {
  readonly entry: Entry;
  readonly head: CredentialHead;
}

/**
 * Credentials in the platform's own store, sealed with a key that is never in it.
 *
 * A credential is one head, which lists its versions, and one sealed record per version. Both change in one transaction
 * guarded by the head. An attacker who can write to the store but has no key can destroy material, and nothing else:
 * altered, exchanged or replayed records are detected. Replaying a whole credential, head and records, is not detected:
 * it looks like a restored backup.
 */
export class EmbeddedSecretStore implements SecretStore {
  readonly #store: Store;
  readonly #keyring: SecretKeyring;
  readonly #random: Random;
  readonly #granted: ReadonlySet<string>;
  readonly #limits: SecretLimits;
  readonly #keep: number;

  constructor(options: EmbeddedSecretStoreOptions) {
    this.#store = options.store;
    this.#keyring = options.keyring;
    this.#random = options.random;
    this.#granted = new Set(options.granted);
    this.#limits = options.limits ?? defaultSecretLimits;
    this.#keep = options.keepVersions ?? KEEP_VERSIONS;
  }

  read(path: CredentialPath, version?: number): Promise<Reading> {
    return this.#allowed(path, async () => {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const held = await this.#held(path);
        if (!held) return missing;
        const wanted = version ?? toSecretState(held.head).current;
        if (wanted === undefined || !held.head.live.includes(wanted)) return missing;

        const record = await this.#store.get(versionKey(path, wanted));
        if (record) {
          const document = openVersion(this.#keyring, { path, uid: held.head.uid, version: wanted }, record);
          return { kind: 'found', version: wanted, document };
        }
        // Destroyed between the two reads, unless the head still lists it.
        if ((await this.#held(path))?.entry.revision === held.entry.revision) break;
      }
      throw new UnreadableSecretFault(`${headKey(path)} lists a version whose record is missing`);
    });
  }

  state(path: CredentialPath): Promise<StateReading> {
    return this.#allowed(path, async () => {
      const held = await this.#held(path);
      return held ? { kind: 'found', state: toSecretState(held.head) } : missing;
    });
  }

  async write(path: CredentialPath, write: NewVersion): Promise<SecretWriteResult> {
    checkDocument(write.document, this.#limits);
    return this.#allowed(path, async () => {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const held = await this.#held(path);
        const last = held?.head.last ?? 0;
        if (last !== write.after) return this.#alreadyWritten(path, write, last);
        const version = await this.#append(path, write, held);
        if (version !== undefined) return { kind: 'written', version };
      }
      throw new SecretStoreUnavailableFault(`${headKey(path)} was changed by other writers in every attempt`);
    });
  }

  promote(path: CredentialPath, version: number): Promise<PromoteResult> {
    return this.#allowed(path, async () => {
      const head = await this.#change(path, current => {
        if (!current.live.includes(version)) return undefined;
        return toSecretState(current).current === version
          ? current
          : { ...setCurrent(current, version), uid: current.uid };
      });
      return head ? { kind: 'promoted', state: toSecretState(head) } : missing;
    });
  }

  destroy(path: CredentialPath, version: number): Promise<DestroyResult> {
    return this.#allowed(path, async () => {
      await this.#change(path, current =>
        current.live.includes(version) ? { ...removeVersion(current, version), uid: current.uid } : undefined,
      );
      return { kind: 'destroyed' };
    });
  }

  delete(path: CredentialPath): Promise<DestroyResult> {
    return this.#allowed(path, async () => {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const entry = await this.#store.get(headKey(path));
        if (!entry) return { kind: 'destroyed' };
        const { live } = readHead(this.#keyring, path, entry);
        const deletes = [entry.key, ...live.map(version => versionKey(path, version))];
        const guards = [{ key: entry.key, at: entry.revision }];
        if ((await this.#store.commit({ guards, puts: [], deletes })).stored) return { kind: 'destroyed' };
      }
      throw new SecretStoreUnavailableFault(`${headKey(path)} was changed by other writers in every attempt`);
    });
  }

  /** The caller owns the store and closes it. */
  async close(): Promise<void> {}

  async #held(path: CredentialPath): Promise<StoredHead | undefined> {
    const entry = await this.#store.get(headKey(path));
    return entry && { entry, head: readHead(this.#keyring, path, entry) };
  }

  /** Writes the next version and its head. Undefined when another writer was first. */
  async #append(path: CredentialPath, write: NewVersion, held: StoredHead | undefined): Promise<number | undefined> {
    const uid = held?.head.uid ?? this.#random.uuid();
    const grown = addVersion(held?.head ?? noVersions, write.as);
    const gone = findSurplus(grown, this.#keep);
    const head = { ...gone.reduce(removeVersion, grown), uid };
    const version = head.last;
    const record = sealVersion(this.#keyring, this.#random, { path, uid, version }, write.document);
    const sealed = guardSealing(this.#keyring, await readKeysInUse(this.#store));
    const { stored } = await this.#store.commit({
      guards: [{ key: headKey(path), at: held?.entry.revision ?? 0 }, ...sealed.guards],
      puts: [
        { key: versionKey(path, version), bytes: encode(record) },
        { key: headKey(path), bytes: encode(buildHeadRecord(this.#keyring, path, head)) },
        ...sealed.puts,
      ],
      deletes: gone.map(old => versionKey(path, old)),
    });
    return stored ? version : undefined;
  }

  /** A repeated write succeeds again; a different one is a conflict. */
  async #alreadyWritten(
    path: CredentialPath,
    { document, after }: NewVersion,
    last: number,
  ): Promise<SecretWriteResult> {
    if (last !== after + 1) return { kind: 'conflict', last };
    const reading = await this.read(path, last);
    const same = reading.kind === 'found' && isSameDocument(reading.document, document);
    return same ? { kind: 'written', version: last } : { kind: 'conflict', last };
  }

  /** Changes the head, and deletes the records of versions that it no longer lists. Writes nothing without a change. */
  async #change(
    path: CredentialPath,
    change: (head: CredentialHead) => CredentialHead | undefined,
  ): Promise<CredentialHead | undefined> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const held = await this.#held(path);
      const next = held && change(held.head);
      if (!next || next === held.head) return next;
      const sealed = guardSealing(this.#keyring, await readKeysInUse(this.#store));
      const { stored } = await this.#store.commit({
        guards: [{ key: held.entry.key, at: held.entry.revision }, ...sealed.guards],
        puts: [{ key: held.entry.key, bytes: encode(buildHeadRecord(this.#keyring, path, next)) }, ...sealed.puts],
        deletes: held.head.live.filter(old => !next.live.includes(old)).map(old => versionKey(path, old)),
      });
      if (stored) return next;
    }
    throw new SecretStoreUnavailableFault(`${headKey(path)} was changed by other writers in every attempt`);
  }

  async #allowed<Outcome>(path: CredentialPath, work: () => Promise<Outcome>): Promise<Outcome | Forbidden> {
    if (!this.#granted.has(path.namespace)) return forbidden;
    try {
      return await work();
    } catch (thrown) {
      throw toSecretFault(thrown);
    }
  }
}

function toSecretFault(thrown: unknown): Error {
  const cause = asError(thrown);
  if (thrown instanceof StoreUnavailableFault) {
    return new SecretStoreUnavailableFault('the store that holds the secrets is unavailable', { cause });
  }
  if (thrown instanceof OutcomeUnknownFault) {
    return new SecretOutcomeUnknownFault('whether the secret was changed is unknown', { cause });
  }
  return cause;
}
