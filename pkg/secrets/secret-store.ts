import type { Secret } from './secret.js';
import type { CredentialPath } from './credential-path.js';

/** The material of one version: values by key. */
export type SecretDocument = ReadonlyMap<string, Secret>;

/** Which versions of a credential there are. Numbers only: no place for a value. */
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

/** There is nothing there, or not in that version. */
export interface Missing {
  readonly kind: 'missing';
}

/** The policy of the store does not let the platform touch this path. */
export interface Forbidden {
  readonly kind: 'forbidden';
}

/** What reading a version came to. */
export type Reading =
  | { readonly kind: 'found'; readonly version: number; readonly document: SecretDocument }
  | Missing
  | Forbidden;

/** What asking for the versions came to. */
export type StateReading = { readonly kind: 'found'; readonly state: SecretState } | Missing | Forbidden;

/** One version to be written. */
export interface NewVersion {
  readonly document: SecretDocument;
  /** `SecretState.last` as the writer saw it; 0 to write only where there is nothing. */
  readonly after: number;
  /** `current`: containers get it from now on. `pending`: they keep the current one until `promote`. */
  readonly as: 'current' | 'pending';
}

/** What a write came to. `conflict`: nothing was written, because another version came first. */
export type SecretWriteResult =
  | { readonly kind: 'written'; readonly version: number }
  | { readonly kind: 'conflict'; readonly last: number }
  | Forbidden;

/** What moving the current version came to. */
export type PromoteResult = { readonly kind: 'promoted'; readonly state: SecretState } | Missing | Forbidden;

/** What destroying came to. `destroyed`: it cannot be read any more, whether or not it ever could. */
export type DestroyResult = { readonly kind: 'destroyed' } | Forbidden;

/**
 * Where credentials are kept: documents of named values, in versions that never change once written.
 *
 * One version is current. During a rotation the next one is pending or the one before is still there, and both can be
 * read. Every method may be called again after a fault: a write that was already made is answered as made, and nothing is
 * written twice.
 *
 * Methods throw `SecretStoreUnavailableFault` (or its kinds, sealed and login) when it is certain that nothing was
 * changed, `SecretOutcomeUnknownFault` when it is not, and `UnreadableSecretFault` for what is there but cannot be
 * trusted. No fault and no outcome holds a value.
 */
export interface SecretStore {
  /** One version, or the current one. */
  read(path: CredentialPath, version?: number): Promise<Reading>;
  state(path: CredentialPath): Promise<StateReading>;
  write(path: CredentialPath, write: NewVersion): Promise<SecretWriteResult>;
  /** Makes a readable version the current one: forwards after staging, backwards to abort. */
  promote(path: CredentialPath, version: number): Promise<PromoteResult>;
  /** Destroys exactly this version. When it was current, the highest that is left is current. */
  destroy(path: CredentialPath, version: number): Promise<DestroyResult>;
  /** Destroys the credential with all versions. A later write begins anew. */
  delete(path: CredentialPath): Promise<DestroyResult>;
  close(): Promise<void>;
}
