import type { Guard } from '../store/index.js';
import type { Secret } from './secret.js';
import type { CredentialPath } from './credential-path.js';

export type SecretDocument = ReadonlyMap<string, Secret>;

/** The versions of a credential. Numbers only: it cannot hold a value. */
export interface SecretState {
  /** The highest version ever written; 0 before the first. Writes are compared with it. */
  readonly last: number;
  /** The version that containers get. Undefined when none can be read. */
  readonly current?: number;
  /** The version staged to be the next current one. */
  readonly pending?: number;
  /** The version before the current one, while it can still be read. */
  readonly previous?: number;
}

/** The credential or the version does not exist. */
export const missing = { kind: 'missing' } as const;
export type Missing = typeof missing;

/** The policy of the store does not grant the platform access to this path. */
export const forbidden = { kind: 'forbidden' } as const;
export type Forbidden = typeof forbidden;

export type Reading =
  | { readonly kind: 'found'; readonly version: number; readonly document: SecretDocument }
  | Missing
  | Forbidden;

/** The versions of a credential, and its uid: another one has it after the credential was deleted and recreated. */
export type StateReading =
  | { readonly kind: 'found'; readonly uid: string; readonly state: SecretState }
  | Missing
  | Forbidden;

/** What must hold for a change to be made. */
export interface SecretPrecondition {
  /** The credential that the change is for: one that was recreated has versions of the same numbers. */
  readonly uid?: string;
  /**
   * Must hold in the platform's store: the fence of a leader. Only a store that shares its transactions can compare them, so
   * a leader also records a destruction, with its fence, before it asks for it.
   */
  readonly guards?: readonly Guard[];
}

export interface NewVersion extends SecretPrecondition {
  readonly document: SecretDocument;
  /** `SecretState.last` as the writer read it; 0 to write only when there is no credential. */
  readonly after: number;
  /** `current`: containers get it from now on. `pending`: they keep the current one until `promote`. */
  readonly as: 'current' | 'pending';
}

/** The result of a write. `conflict`: nothing was written, because another version came first. */
export type SecretWriteResult =
  | { readonly kind: 'written'; readonly version: number }
  | { readonly kind: 'conflict'; readonly last: number }
  | Forbidden;

export type PromoteResult = { readonly kind: 'promoted'; readonly state: SecretState } | Missing | Forbidden;

/** The result of destroying. `destroyed`: it cannot be read, whether or not it ever existed, or went with its credential. */
export const destroyed = { kind: 'destroyed' } as const;
export type DestroyResult = typeof destroyed | Forbidden;

export type CredentialListing = { readonly kind: 'found'; readonly labels: readonly string[] } | Forbidden;

/**
 * A store of credentials: documents of named values, in immutable versions.
 *
 * One version is current. During a rotation the next one is pending or the previous one still exists, and both can be
 * read. Every method may be repeated after a fault: a write that was already made succeeds again, and nothing is written
 * twice.
 *
 * Methods throw `SecretStoreUnavailableFault` (or its subclasses, sealed and login) when nothing was changed,
 * `SecretPreconditionFault` when a guard did not hold,
 * `SecretOutcomeUnknownFault` when that is unknown, and `UnreadableSecretFault` for stored data that cannot be trusted.
 * No fault and no result of a write holds a value.
 */
export interface SecretStore {
  /** One version, or the current one. */
  read(path: CredentialPath, version?: number): Promise<Reading>;
  state(path: CredentialPath): Promise<StateReading>;
  write(path: CredentialPath, write: NewVersion): Promise<SecretWriteResult>;
  /** Makes a readable version the current one: forward after staging, backward to abort. */
  promote(path: CredentialPath, version: number, condition?: SecretPrecondition): Promise<PromoteResult>;
  /** Destroys exactly this version of exactly this credential. When it was current, the highest remaining one becomes current. */
  destroy(
    path: CredentialPath,
    version: number,
    condition: SecretPrecondition & { readonly uid: string },
  ): Promise<DestroyResult>;
  /** Destroys the credential with all versions. A later write starts again at version 1. */
  delete(path: CredentialPath): Promise<DestroyResult>;
  /** The labels of the credentials that a tenant has in a namespace. */
  list(where: Pick<CredentialPath, 'tenant' | 'namespace'>): Promise<CredentialListing>;
  close(): Promise<void>;
}
