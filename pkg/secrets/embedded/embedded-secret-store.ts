import { ranges } from '../../../crds/keys/index.js';
import { defaultSecretLimits, type SecretLimits } from '../../../crds/secret/index.js';
import type { Random } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import {
  encode,
  type Entry,
  type Guard,
  isGuardMet,
  OutcomeUnknownFault,
  type Put,
  type Store,
  StoreUnavailableFault,
} from '../../store/index.js';
import type { CredentialPath } from '../credential-path.js';
import { checkDocument, isSameDocument } from '../document.js';
import {
  SecretOutcomeUnknownFault,
  SecretPreconditionFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../faults.js';
import {
  type CredentialListing,
  destroyed,
  type DestroyResult,
  type Forbidden,
  forbidden,
  missing,
  type NewVersion,
  type PromoteResult,
  type Reading,
  type SecretPrecondition,
  type SecretStore,
  type SecretWriteResult,
  type StateReading,
} from '../secret-store.js';
import {
  noVersions,
  toSecretState,
  findSurplus,
  setCurrent,
  addVersion,
  removeVersion,
  type Versions,
} from '../versions.js';
import { readKeysInUse, guardSealing } from './keys-in-use.js';
import {
  type CredentialHead,
  buildHeadKey,
  buildHeadRecord,
  openVersion,
  readHead,
  sealVersion,
  buildVersionKey,
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
    return this.#attempt(path, async () => {
      const held = await this.#held(path);
      const wanted = version ?? (held && toSecretState(held.head).current);
      if (!held || wanted === undefined || !held.head.live.includes(wanted)) return missing;

      const record = await this.#store.get(buildVersionKey(path, wanted));
      if (record) {
        const document = openVersion(this.#keyring, { path, uid: held.head.uid, version: wanted }, record);
        return { kind: 'found', version: wanted, document };
      }
      // Destroyed between the two reads, unless the head still lists it.
      if ((await this.#held(path))?.entry.revision !== held.entry.revision) return undefined;
      throw new UnreadableSecretFault(`${buildHeadKey(path)} lists a version whose record is missing`);
    });
  }

  state(path: CredentialPath): Promise<StateReading> {
    return this.#attempt(path, async () => {
      const held = await this.#held(path);
      return held ? { kind: 'found', uid: held.head.uid, state: toSecretState(held.head) } : missing;
    });
  }

  async write(path: CredentialPath, write: NewVersion): Promise<SecretWriteResult> {
    checkDocument(write.document, this.#limits);
    return this.#attempt(path, async () => {
      const held = await this.#held(path);
      const last = held?.head.last ?? 0;
      if (!isMeant(held, write)) return { kind: 'conflict', last };
      return last === write.after ? this.#append(path, write, held) : this.#findEarlierWrite(path, write, last);
    });
  }

  promote(path: CredentialPath, version: number, condition: SecretPrecondition = {}): Promise<PromoteResult> {
    return this.#attempt(path, async () => {
      const held = await this.#held(path);
      if (!held?.head.live.includes(version) || !isMeant(held, condition)) return missing;
      const state = toSecretState(held.head);
      if (state.current === version) return { kind: 'promoted', state };
      const next = setCurrent(held.head, version);
      const stored = await this.#replaceHead(path, held, next, condition);
      return stored ? { kind: 'promoted', state: toSecretState(next) } : undefined;
    });
  }

  destroy(
    path: CredentialPath,
    version: number,
    condition: SecretPrecondition & { readonly uid: string },
  ): Promise<DestroyResult> {
    return this.#attempt(path, async () => {
      const held = await this.#held(path);
      if (!held?.head.live.includes(version) || !isMeant(held, condition)) return destroyed;
      const left = removeVersion(held.head, version);
      return (await this.#replaceHead(path, held, left, condition)) ? destroyed : undefined;
    });
  }

  async list({ tenant, namespace }: Pick<CredentialPath, 'tenant' | 'namespace'>): Promise<CredentialListing> {
    if (!this.#granted.has(namespace)) return forbidden;
    const prefix = `${ranges.of(ranges.secrets, tenant)}${namespace}/`;
    const { entries } = await this.#store.list(prefix);
    return { kind: 'found', labels: entries.map(({ key }) => key.slice(prefix.length)) };
  }

  delete(path: CredentialPath): Promise<DestroyResult> {
    return this.#attempt(path, async () => {
      const held = await this.#held(path);
      if (!held) return destroyed;
      const { key, revision } = held.entry;
      const deletes = [key, ...held.head.live.map(version => buildVersionKey(path, version))];
      const { stored } = await this.#store.commit({ guards: [{ key, at: revision }], puts: [], deletes });
      return stored ? destroyed : undefined;
    });
  }

  /** The caller owns the store and closes it. */
  async close(): Promise<void> {}

  async #held(path: CredentialPath): Promise<StoredHead | undefined> {
    const entry = await this.#store.get(buildHeadKey(path));
    return entry && { entry, head: readHead(this.#keyring, path, entry) };
  }

  /** Writes the next version and its head. Undefined when another writer was first. */
  async #append(
    path: CredentialPath,
    write: NewVersion,
    held: StoredHead | undefined,
  ): Promise<SecretWriteResult | undefined> {
    const uid = held?.head.uid ?? this.#random.uuid();
    const grown = addVersion(held?.head ?? noVersions, write.as);
    const next = findSurplus(grown, this.#keep).reduce(removeVersion, grown);
    const version = next.last;
    const record = sealVersion(this.#keyring, this.#random, { path, uid, version }, write.document);
    const put = { key: buildVersionKey(path, version), bytes: encode(record) };
    const stored = await this.#replaceHead(path, held, next, { uid, puts: [put], guards: write.guards ?? [] });
    return stored ? { kind: 'written', version } : undefined;
  }

  /** A repeated write succeeds again; a different one is a conflict. */
  async #findEarlierWrite(
    path: CredentialPath,
    { document, after }: NewVersion,
    last: number,
  ): Promise<SecretWriteResult> {
    if (last !== after + 1) return { kind: 'conflict', last };
    const reading = await this.read(path, last);
    const same = reading.kind === 'found' && isSameDocument(reading.document, document);
    return same ? { kind: 'written', version: last } : { kind: 'conflict', last };
  }

  /** Writes the head, and deletes the records of versions that it no longer lists. False when another writer was first. */
  async #replaceHead(
    path: CredentialPath,
    held: StoredHead | undefined,
    versions: Versions,
    { uid = held?.head.uid ?? '', puts = [], guards = [] }: SecretPrecondition & { readonly puts?: readonly Put[] },
  ): Promise<boolean> {
    const key = buildHeadKey(path);
    const sealed = guardSealing(this.#keyring, await readKeysInUse(this.#store));
    const head = buildHeadRecord(this.#keyring, path, { ...versions, uid });
    const { stored } = await this.#store.commit({
      guards: [{ key, at: held?.entry.revision ?? 0 }, ...sealed.guards, ...guards],
      puts: [...puts, { key, bytes: encode(head) }, ...sealed.puts],
      deletes: (held?.head.live ?? []).filter(old => !head.live.includes(old)).map(old => buildVersionKey(path, old)),
    });
    if (!stored) await this.#checkGuards(guards);
    return stored;
  }

  /** Throws when one of the caller's own guards does not hold: then trying again is of no use. */
  async #checkGuards(guards: readonly Guard[]): Promise<void> {
    for (const guard of guards)
      if (!isGuardMet(guard, await this.#store.get(guard.key)))
        throw new SecretPreconditionFault('the secret was not changed: another process leads now');
  }

  /** Repeats the work while it returns undefined, because another writer was first. */
  async #attempt<Outcome>(
    path: CredentialPath,
    work: () => Promise<Outcome | undefined>,
  ): Promise<Outcome | Forbidden> {
    if (!this.#granted.has(path.namespace)) return forbidden;
    try {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const outcome = await work();
        if (outcome !== undefined) return outcome;
      }
    } catch (thrown) {
      throw toSecretFault(thrown);
    }
    throw new SecretStoreUnavailableFault(`${buildHeadKey(path)} was changed by other writers in every attempt`);
  }
}

/** Whether a credential is the one that a change is about. */
function isMeant(held: StoredHead | undefined, { uid }: SecretPrecondition): boolean {
  return uid === undefined || held?.head.uid === uid;
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
