/** A name and a password that a registry knows. */
export interface RegistryCredential {
  readonly username: string;
  readonly password: string;
}

/** What is known about a tenant's access to a registry. */
export type CredentialAnswer =
  | { readonly kind: 'found'; readonly credential: RegistryCredential }
  | { readonly kind: 'none' }
  | { readonly kind: 'unavailable' };

/**
 * The tenants' own credentials for registries.
 *
 * Only ever the tenant's own: with anybody else's, a tenant could find out which images others have. `host` is
 * `name[:port]` as image references name it. A store that cannot be asked is `unavailable`, and never `none`.
 */
export interface RegistryCredentials {
  credentialsFor(tenant: string, host: string, signal: AbortSignal): Promise<CredentialAnswer>;
}

/** For an installation without a secrets store: no tenant has a credential. */
export const noRegistryCredentials: RegistryCredentials = {
  credentialsFor: () => Promise.resolve({ kind: 'none' }),
};
