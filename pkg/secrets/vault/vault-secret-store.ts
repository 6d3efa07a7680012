import { defaultSecretLimits, type SecretLimits } from '../../../crds/secret/index.js';
import type { Clock } from '../../clock/index.js';
import { BrokenInvariantFault } from '../../fault/index.js';
import type { CredentialPath } from '../credential-path.js';
import { checkDocument, revealDocument, isSameDocument } from '../document.js';
import { SecretOutcomeUnknownFault, SecretStoreRefusedFault, SecretStoreUnavailableFault } from '../faults.js';
import {
  type CredentialListing,
  destroyed,
  type DestroyResult,
  type Forbidden,
  forbidden,
  type Missing,
  missing,
  type NewVersion,
  type PromoteResult,
  type Reading,
  type SecretPrecondition,
  type SecretStore,
  type SecretWriteResult,
  type StateReading,
} from '../secret-store.js';
import { noVersions, toSecretState, type Versions, setCurrent } from '../versions.js';
import {
  isGoneVersion,
  type KvMetadata,
  parseKvList,
  parseKvMetadata,
  parseKvVersion,
  parseKvWrite,
  PIN,
} from './kv-answers.js';
import { type VaultResponse, type VaultCall, VaultHttp, type VaultHttpOptions } from './vault-http.js';
import { type VaultLogin, VaultSession } from './vault-session.js';

export interface VaultSecretStoreOptions extends VaultHttpOptions {
  /** The KV version 2 mount of a tenant: `mooring/{tenant}`. */
  readonly mount: string;
  /** The Vault namespace, where the server has them; may hold `{tenant}` too. The login is made in `loginNamespace`. */
  readonly namespace?: string;
  readonly loginNamespace?: string;
  readonly login: VaultLogin;
  readonly clock: Clock;
  readonly limits?: SecretLimits;
}

const TENANT = '{tenant}';

/**
 * Credentials in HashiCorp Vault or OpenBao, secrets engine KV version 2, one mount per tenant.
 *
 * The server's versions are our versions. While the current one is not the highest, its number is in the custom metadata
 * `mooring-current`, written before a pending version, so that a container never gets a version that was only staged. The
 * server has no compare-and-set for metadata: a write that races with a staging of the same credential may end up staged
 * too, never the other way round. It also compares nothing before it destroys: that the credential is the one that is meant
 * is read just before.
 *
 * The platform's policy needs create, read and update on `data/*`, the same and delete on `metadata/*`, and update on
 * `destroy/*`; and list on `metadata/*`, so that a tenant is deleted only when it has no secrets left.
 */
export class VaultSecretStore implements SecretStore {
  readonly #http: VaultHttp;
  readonly #session: VaultSession;
  readonly #mount: string;
  readonly #namespace: string | undefined;
  readonly #clock: Clock;
  readonly #limits: SecretLimits;

  constructor(options: VaultSecretStoreOptions) {
    const { mount, namespace, loginNamespace, login, clock, limits = defaultSecretLimits } = options;
    if (!`${mount}${namespace ?? ''}`.includes(TENANT)) {
      throw new BrokenInvariantFault(
        `the mount of the secrets server must contain ${TENANT}: tenants must not share a mount`,
      );
    }
    this.#http = new VaultHttp(options);
    this.#session = new VaultSession({ http: this.#http, login, clock, namespace: loginNamespace });
    this.#mount = mount;
    this.#namespace = namespace;
    this.#clock = clock;
    this.#limits = limits;
  }

  async read(path: CredentialPath, version?: number): Promise<Reading> {
    const query = version === undefined ? '' : `?version=${version}`;
    const { status, body } = await this.#ask(path, 'data', { method: 'GET', query });
    if (status === 403) return forbidden;
    if (status === 400) throw new SecretStoreUnavailableFault('the secrets server cannot serve reads now');
    if (status === 404) return version === undefined && isGoneVersion(body) ? this.#readCurrent(path) : missing;
    const { pin, ...found } = parseKvVersion(body);
    const isCurrent = pin === undefined || pin === found.version;
    return version !== undefined || isCurrent ? { kind: 'found', ...found } : this.#readCurrent(path);
  }

  async state(path: CredentialPath): Promise<StateReading> {
    const metadata = await this.#metadata(path);
    if (!('versions' in metadata)) return metadata;
    const { versions, uid } = metadata;
    return versions.last === 0 ? missing : { kind: 'found', uid, state: toSecretState(versions) };
  }

  async write(path: CredentialPath, write: NewVersion): Promise<SecretWriteResult> {
    checkDocument(write.document, this.#limits);
    const staged = write.as === 'pending' ? await this.#pinBeforeStaging(path, write) : undefined;
    if (staged) return staged;
    try {
      return await this.#put(path, write);
    } catch (thrown) {
      if (!(thrown instanceof SecretOutcomeUnknownFault)) throw thrown;
      const settled = await this.#settle(path, write).catch(() => undefined);
      if (settled?.kind === 'written') return settled;
      throw thrown;
    }
  }

  async promote(path: CredentialPath, version: number, { uid }: SecretPrecondition = {}): Promise<PromoteResult> {
    const metadata = await this.#metadata(path);
    if (!('versions' in metadata)) return metadata;
    if (!metadata.versions.live.includes(version) || !isMeant(metadata, uid)) return missing;
    const next = setCurrent(metadata.versions, version);
    return (await this.#pin(path, metadata, next.pin)) ?? { kind: 'promoted', state: toSecretState(next) };
  }

  async destroy(
    path: CredentialPath,
    version: number,
    { uid }: SecretPrecondition & { readonly uid: string },
  ): Promise<DestroyResult> {
    const metadata = await this.#metadata(path);
    if (!('versions' in metadata)) return metadata.kind === 'forbidden' ? metadata : destroyed;
    if (!isMeant(metadata, uid)) return destroyed;
    const answer = await this.#ask(path, 'destroy', { method: 'POST', body: { versions: [version] } });
    if (answer.status === 403) return forbidden;
    await afterChange(this.#unpinHighest(path));
    return destroyed;
  }

  async delete(path: CredentialPath): Promise<DestroyResult> {
    const { status } = await this.#ask(path, 'metadata', { method: 'DELETE' });
    return status === 403 ? forbidden : destroyed;
  }

  async list(where: Pick<CredentialPath, 'tenant' | 'namespace'>): Promise<CredentialListing> {
    const { status, body } = await this.#ask({ ...where, label: '' }, 'metadata', {
      method: 'GET',
      query: '?list=true',
    });
    if (status === 403) return forbidden;
    if (status === 404) return { kind: 'found', labels: [] };
    if (status !== 200) throw new SecretStoreUnavailableFault('the secrets server cannot serve reads now');
    return { kind: 'found', labels: parseKvList(body) };
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.#http.close();
  }

  /** Reads the current version when it is not the last one written. */
  async #readCurrent(path: CredentialPath): Promise<Reading> {
    const reading = await this.state(path);
    if (reading.kind !== 'found') return reading;
    return reading.state.current === undefined ? missing : this.read(path, reading.state.current);
  }

  /** Pins the current version before the next one is staged. Returns a result when there is nothing to write. */
  async #pinBeforeStaging(path: CredentialPath, write: NewVersion): Promise<SecretWriteResult | undefined> {
    const metadata = await this.#metadata(path);
    if ('kind' in metadata && metadata.kind === 'forbidden') return metadata;
    const found = 'versions' in metadata ? metadata : { versions: noVersions, uid: '', custom: {} };
    const { versions } = found;
    if (!isMeant(found, write.uid)) return { kind: 'conflict', last: versions.last };
    if (versions.last !== write.after) return this.#settle(path, write, versions);
    return this.#pin(path, found, toSecretState(versions).current ?? 0);
  }

  async #put(path: CredentialPath, write: NewVersion): Promise<SecretWriteResult> {
    const body = { options: { cas: write.after }, data: revealDocument(write.document) };
    const answer = await this.#ask(path, 'data', { method: 'POST', body });
    if (answer.status === 403) return forbidden;
    if (answer.status !== 200) return this.#settle(path, write);
    const { version, pin } = parseKvWrite(answer.body);
    return this.#finishWrite(path, write, version, pin);
  }

  /** Finds the outcome of a write that failed: it was made earlier, or another writer was first. */
  async #settle(path: CredentialPath, write: NewVersion, seen?: Versions): Promise<SecretWriteResult> {
    const metadata = seen ? undefined : await this.#metadata(path);
    if (metadata && 'kind' in metadata && metadata.kind === 'forbidden') return metadata;
    const versions = seen ?? (metadata && 'versions' in metadata ? metadata.versions : noVersions);
    const { last, pin } = versions;
    if (last === write.after)
      throw new SecretStoreRefusedFault(
        'the secrets server did not store the document: check that the KV version 2 mount of the tenant exists, then its log',
      );
    const reading = last === write.after + 1 ? await this.read(path, last) : missing;
    const same = reading.kind === 'found' && isSameDocument(reading.document, write.document);
    return same ? this.#finishWrite(path, write, last, pin) : { kind: 'conflict', last };
  }

  /** Removes a pin that would keep a version written as current from being current. */
  async #finishWrite(
    path: CredentialPath,
    write: NewVersion,
    version: number,
    pin?: number,
  ): Promise<SecretWriteResult> {
    if (write.as === 'pending' || pin === undefined) return { kind: 'written', version };
    const promoted = await afterChange(this.promote(path, version));
    return promoted.kind === 'forbidden' ? forbidden : { kind: 'written', version };
  }

  /** Removes a pin to the highest version, so that no pin outlives a rotation. */
  async #unpinHighest(path: CredentialPath): Promise<void> {
    const metadata = await this.#metadata(path);
    if (!('versions' in metadata)) return;
    const { current } = toSecretState(metadata.versions);
    if (current !== undefined && current === metadata.versions.live.at(-1)) await this.#pin(path, metadata, undefined);
  }

  async #metadata(path: CredentialPath): Promise<KvMetadata | Missing | Forbidden> {
    const { status, body } = await this.#ask(path, 'metadata', { method: 'GET' });
    if (status === 403) return forbidden;
    if (status === 404) return missing;
    if (status !== 200) throw new SecretStoreUnavailableFault('the secrets server cannot serve reads now');
    return parseKvMetadata(body, this.#clock.now());
  }

  /** Sets or removes the pin, and preserves all other metadata. */
  async #pin(path: CredentialPath, { versions, custom }: KvMetadata, pin?: number): Promise<Forbidden | undefined> {
    if (versions.pin === pin) return undefined;
    const { [PIN]: _, ...others } = custom;
    const wanted = pin === undefined ? others : { ...others, [PIN]: String(pin) };
    const { status } = await this.#ask(path, 'metadata', { method: 'POST', body: { custom_metadata: wanted } });
    if (status === 403) return forbidden;
    if (status === 400)
      throw new SecretStoreRefusedFault(
        'the secrets server refuses the custom metadata of a credential: it accepts at most 64 entries for each',
      );
    return undefined;
  }

  async #ask(
    path: Pick<CredentialPath, 'tenant' | 'namespace' | 'label'>,
    what: 'data' | 'metadata' | 'destroy',
    { query = '', ...call }: Pick<VaultCall, 'method' | 'body'> & { readonly query?: string },
  ): Promise<VaultResponse> {
    const mount = this.#mount.replaceAll(TENANT, path.tenant).split('/').filter(Boolean);
    const url = [...mount, what, path.namespace, path.label].filter(Boolean).map(encodeURIComponent).join('/');
    const namespace = this.#namespace?.replaceAll(TENANT, path.tenant);
    const request = { ...call, path: `${url}${query}`, ...(namespace !== undefined && { namespace }) };
    const token = await this.#session.token();
    const answer = await this.#http.call({ ...request, token });
    if (answer.status !== 403) return answer;
    const fresh = await this.#session.replaceToken(token);
    return fresh ? this.#http.call({ ...request, token: fresh }) : answer;
  }
}

/** Whether a credential is the one that a change is about. */
function isMeant({ uid }: KvMetadata, wanted: string | undefined): boolean {
  return wanted === undefined || wanted === uid;
}

/** After a change, a failing follow-up must not be reported as "nothing was changed". */
async function afterChange<Outcome>(work: Promise<Outcome>): Promise<Outcome> {
  try {
    return await work;
  } catch (thrown) {
    if (!(thrown instanceof SecretStoreUnavailableFault)) throw thrown;
    const message = 'the secrets server made a change, but a follow-up step failed';
    throw new SecretOutcomeUnknownFault(message, { cause: thrown });
  }
}
