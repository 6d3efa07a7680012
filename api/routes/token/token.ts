import { keys } from '../../../crds/keys/index.js';
import type { StoredToken } from '../../../crds/tenant/index.js';
import { encode, type Guard, type Put, type Store } from '../../../pkg/store/index.js';
import type { StorageEnv } from '../../http/route.js';
import type { Keyring } from '../../../pkg/auth/index.js';
import { waitUntilStored } from '../../http/concurrency.js';

/** What tokens are minted and stored with. */
export interface TokenEnv extends StorageEnv {
  readonly keyring: Keyring;
}

/** A token as clients see it: everything about it but the digest. */
export type TokenResponse = Omit<StoredToken, 'digest' | 'usedBy'> & { readonly used?: boolean };

export function toTokenResponse(stored: StoredToken): TokenResponse {
  const { digest: _, usedBy, ...token } = stored;
  return token.kind === 'join' ? { ...token, used: usedBy !== undefined } : token;
}

/** How long the record of a token outlives the token. */
const AFTERLIFE_SECONDS = 3_600;

/** Stores a new token of a tenant that exists, or of the platform. False when there is no such tenant. */
export async function storeToken({ store, cache, clock }: StorageEnv, token: StoredToken): Promise<boolean> {
  const key = keys.token(token.id);
  const tenant: readonly Guard[] = token.tenant === undefined ? [] : [{ key: keys.tenant(token.tenant), exists: true }];
  const put = await putToken(store, token, clock.now());
  return waitUntilStored(cache, store.commit({ guards: [{ key, at: 0 }, ...tenant], puts: [put], deletes: [] }));
}

/**
 * The put of a token. Node and join tokens are many and short-lived: they are on a lease, so that they need no clean-up.
 * A person's token does not depend on one.
 */
export async function putToken(store: Store, token: StoredToken, now: number): Promise<Put> {
  const put = { key: keys.token(token.id), bytes: encode(token) };
  if (token.kind === 'tenant' || token.kind === 'admin') return put;
  const remaining = Math.ceil((Date.parse(token.expiresAt) - now) / 1000);
  const lease = await store.grant(Math.max(1, remaining) + AFTERLIFE_SECONDS);
  return { ...put, lease: lease.id };
}
