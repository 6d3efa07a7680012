import { defaultSecretLimits, type SecretLimits } from '../../../crds/secret/index.js';
import type { Random } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import { encode, type Entry, OutcomeUnknownFault, type Store, StoreUnavailableFault } from '../../store/index.js';
import type { CredentialPath } from '../credential-path.js';
import { checkDocument, sameDocument } from '../document.js';
import { SecretOutcomeUnknownFault, SecretStoreUnavailableFault, UnreadableSecretFault } from '../faults.js';
import type {
  Destroyed,
  Forbidden,
  Missing,
  Promoted,
  Reading,
  SecretStore,
  NewVersion,
  SecretWritten,
  StateReading,
} from '../secret-store.js';
import { noVersions, stateOf, surplus, withCurrent, withNext, without } from '../versions.js';
import { keysInUse, sealedUnder } from './keys-in-use.js';
import { type Head, headKey, headRecord, openVersion, readHead, sealVersion, versionKey } from './records.js';
import type { SecretKeyring } from './secret-keyring.js';

export interface EmbeddedSecretStoreOptions {
  readonly store: Store;
  readonly keyring: SecretKeyring;
  readonly random: Random;
  /** The namespaces that the policy grants. Everything else is forbidden. */
  readonly granted: readonly string[];
  readonly limits?: SecretLimits;
  /** How many versions of a credential stay readable. */
  readonly keepVersions?: number;
}

const KEEP_VERSIONS = 10;
const ATTEMPTS = 8;
const forbidden: Forbidden = { kind: 'forbidden' };
const missing: Missing = { kind: 'missing' };

interface Held {
  readonly entry: Entry;
  readonly head: Head;
}

/**
 * Credentials in the platform's own store, sealed with a key that is never in it.
 *
 * A credential is one head, which says what versions there are, and one sealed record a version. Both change in one
 * transaction guarded by the head. Whoever can write to the store but has no key can destroy material, and nothing else:
 * records that are altered, exchanged or put back are noticed. A whole credential, head and records, that is put
 * back as it once stood is not: it is what a restored backup looks like.
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
        const wanted = version ?? stateOf(held.head).current;
        if (wanted === undefined || !held.head.live.includes(wanted)) return missing;

        const record = await this.#store.get(versionKey(path, wanted));
        if (record) {
          const document = openVersion(this.#keyring, { path, uid: held.head.uid, version: wanted }, record);
          return { kind: 'found', version: wanted, document };
        }
        // Destroyed between the two reads, unless the head still promises it.
        if ((await this.#held(path))?.entry.revision === held.entry.revision) break;
      }
      throw new UnreadableSecretFault(`${headKey(path)} names a version that is not there`);
    });
  }

  state(path: CredentialPath): Promise<StateReading> {
    return this.#allowed(path, async () => {
      const held = await this.#held(path);
      return held ? { kind: 'found', state: stateOf(held.head) } : missing;
    });
  }

  async write(path: CredentialPath, write: NewVersion): Promise<SecretWritten> {
    checkDocument(write.document, this.#limits);
    return this.#allowed(path, async () => {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const held = await this.#held(path);
        const last = held?.head.last ?? 0;
        if (last !== write.after) return this.#alreadyWritten(path, write, last);
        const version = await this.#append(path, write, held);
        if (version !== undefined) return { kind: 'written', version };
      }
      throw new SecretStoreUnavailableFault(`${headKey(path)} kept changing`);
    });
  }

  promote(path: CredentialPath, version: number): Promise<Promoted> {
    return this.#allowed(path, async () => {
      const head = await this.#change(path, current => {
        if (!current.live.includes(version)) return undefined;
        return stateOf(current).current === version ? current : { ...withCurrent(current, version), uid: current.uid };
      });
      return head ? { kind: 'promoted', state: stateOf(head) } : missing;
    });
  }

  destroy(path: CredentialPath, version: number): Promise<Destroyed> {
    return this.#allowed(path, async () => {
      await this.#change(path, current =>
        current.live.includes(version) ? { ...without(current, version), uid: current.uid } : undefined,
      );
      return { kind: 'destroyed' };
    });
  }

  delete(path: CredentialPath): Promise<Destroyed> {
    return this.#allowed(path, async () => {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const entry = await this.#store.get(headKey(path));
        if (!entry) return { kind: 'destroyed' };
        const { live } = readHead(this.#keyring, path, entry);
        const deletes = [entry.key, ...live.map(version => versionKey(path, version))];
        const guards = [{ key: entry.key, at: entry.revision }];
        if ((await this.#store.commit({ guards, puts: [], deletes })).stored) return { kind: 'destroyed' };
      }
      throw new SecretStoreUnavailableFault(`${headKey(path)} kept changing`);
    });
  }

  /** The store is not this object's own to close. */
  async close(): Promise<void> {}

  async #held(path: CredentialPath): Promise<Held | undefined> {
    const entry = await this.#store.get(headKey(path));
    return entry && { entry, head: readHead(this.#keyring, path, entry) };
  }

  /** Writes the next version and the head that knows it, unless somebody else was first. */
  async #append(path: CredentialPath, write: NewVersion, held: Held | undefined): Promise<number | undefined> {
    const uid = held?.head.uid ?? this.#random.uuid();
    const grown = withNext(held?.head ?? noVersions, write.as);
    const gone = surplus(grown, this.#keep);
    const head = { ...gone.reduce(without, grown), uid };
    const version = head.last;
    const record = sealVersion(this.#keyring, this.#random, { path, uid, version }, write.document);
    const sealed = sealedUnder(this.#keyring, await keysInUse(this.#store));
    const { stored } = await this.#store.commit({
      guards: [{ key: headKey(path), at: held?.entry.revision ?? 0 }, ...sealed.guards],
      puts: [
        { key: versionKey(path, version), bytes: encode(record) },
        { key: headKey(path), bytes: encode(headRecord(this.#keyring, path, head)) },
        ...sealed.puts,
      ],
      deletes: gone.map(old => versionKey(path, old)),
    });
    return stored ? version : undefined;
  }

  /** A write whose answer was lost is answered again; a different one came too late. */
  async #alreadyWritten(path: CredentialPath, { document, after }: NewVersion, last: number): Promise<SecretWritten> {
    if (last !== after + 1) return { kind: 'conflict', last };
    const reading = await this.read(path, last);
    const same = reading.kind === 'found' && sameDocument(reading.document, document);
    return same ? { kind: 'written', version: last } : { kind: 'conflict', last };
  }

  /** Changes the head, and deletes the records of versions that it names no more. Nothing is written for no change. */
  async #change(path: CredentialPath, change: (head: Head) => Head | undefined): Promise<Head | undefined> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const held = await this.#held(path);
      const next = held && change(held.head);
      if (!next || next === held.head) return next;
      const sealed = sealedUnder(this.#keyring, await keysInUse(this.#store));
      const { stored } = await this.#store.commit({
        guards: [{ key: held.entry.key, at: held.entry.revision }, ...sealed.guards],
        puts: [{ key: held.entry.key, bytes: encode(headRecord(this.#keyring, path, next)) }, ...sealed.puts],
        deletes: held.head.live.filter(old => !next.live.includes(old)).map(old => versionKey(path, old)),
      });
      if (stored) return next;
    }
    throw new SecretStoreUnavailableFault(`${headKey(path)} kept changing`);
  }

  async #allowed<Outcome>(path: CredentialPath, work: () => Promise<Outcome>): Promise<Outcome | Forbidden> {
    if (!this.#granted.has(path.namespace)) return forbidden;
    try {
      return await work();
    } catch (thrown) {
      throw asSecretFault(thrown);
    }
  }
}

function asSecretFault(thrown: unknown): Error {
  const cause = asError(thrown);
  if (thrown instanceof StoreUnavailableFault) {
    return new SecretStoreUnavailableFault('the store that keeps the secrets is unavailable', { cause });
  }
  if (thrown instanceof OutcomeUnknownFault) {
    return new SecretOutcomeUnknownFault('whether the secret was changed is not known', { cause });
  }
  return cause;
}
