import { keys, ranges } from '../../../crds/keys/index.js';
import { checkTokenRequest, type StoredToken, type TokenRequest } from '../../../crds/tenant/index.js';
import { type Keyring, mintToken } from '../../../pkg/auth/index.js';
import {
  type Cache,
  encode,
  type Entry,
  type Guard,
  type Put,
  remove,
  type Store,
  value,
} from '../../../pkg/store/index.js';
import { replyDryRun } from '../../write/answer.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult, type StorageEnv } from '../../http/route.js';
import type { ReaderOptions } from '../kind-routes.js';

const BY_TENANT = 'api.tokens-by-tenant';
const BY_NODE = 'api.tokens-by-node';
/** The index key of the platform's own tokens: no tenant can have this id. */
const PLATFORM = '';
const TOKEN_ID = /^[0-9A-Za-z]{16}$/;

/** Indexes tokens by their tenant and by their node. To be called once, before the cache is filled. */
export function defineTokenIndex(cache: Cache): void {
  cache.defineIndex(BY_NODE, ranges.tokens, entry => [value<StoredToken>(entry).node ?? []].flat());
  cache.defineIndex(BY_TENANT, ranges.tokens, entry => [value<StoredToken>(entry).tenant ?? PLATFORM]);
}

/** Tokens are listed by administrators: those of a tenant, or those of the platform. */
export function createTokenReader({ cache }: Pick<TokenEnv, 'cache'>): ReaderOptions {
  const view = (entry: Entry) => Buffer.from(JSON.stringify(toTokenResponse(value<StoredToken>(entry))));
  return {
    resource: { range: ranges.tokens, view },
    isVisible: ({ tenant }, entry) => (value<StoredToken>(entry).tenant ?? PLATFORM) === (tenant || PLATFORM),
    listRights: { access: { tenant: 'admin', admin: true }, tenant: 'chosen' },
    readSource: ({ tenant }) => ({
      entries: cache.by(BY_TENANT, tenant || PLATFORM),
      revision: cache.revision,
      prefix: ranges.tokens,
      view,
    }),
  };
}

/** Tokens: created and revoked by the administrators of a tenant, or by the platform's. */
export function createTokenRoutes(env: TokenEnv): readonly Route[] {
  const tenant = 'chosen';
  return [
    defineRoute('viewer', 'GET', '/api/v1/tokens/self', showCaller, { tenant }),
    defineRoute('admin', 'POST', '/api/v1/tokens', call => createToken(env, call), { tenant }),
    defineRoute('admin', 'DELETE', '/api/v1/tokens/{id}', call => revokeToken(env, call), { tenant }),
  ];
}

/** A client that was only handed a token finds out with it what it may ask for. */
function showCaller({ caller: { id, token } }: ApiCall): RouteResult {
  return token ? replyJson(200, toTokenResponse(token)) : rejectRequest('resource_not_found', 'id', id);
}

async function createToken(env: TokenEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkTokenRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { kind, description, role, expiresInSeconds: lifeSeconds } = checked.value;
  const tenant = resolveTokenTenant(call, checked.value);
  if (tenant instanceof RequestRejection) return tenant;

  const owner = { ...(role !== undefined && { role }), ...(tenant !== undefined && { tenant }) };
  const draft = { kind, description, createdBy: call.caller.id, lifeSeconds, ...owner };
  const { alterations } = checked.value;
  if (call.isDryRun) return replyDryRun({ after: draft, alterations });
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored))) return rejectRequest('resource_not_found', 'tenant', tenant ?? '');
  return replyJson(201, { token: minted.text, ...toTokenResponse(minted.stored), alterations, warnings: [] });
}

/** The tenant of a new token; undefined for a token of the platform. */
function resolveTokenTenant(
  { caller, tenant }: ApiCall,
  { kind, tenant: named }: TokenRequest,
): string | RequestRejection | undefined {
  if (kind === 'admin') {
    if (caller.kind === 'admin') return undefined;
    return rejectRequest('auth_forbidden', 'kind', kind, { needed: 'an administrator token' });
  }
  if (named !== undefined && tenant !== '' && named !== tenant) {
    return rejectRequest('tenant_mismatch', 'tenant', named);
  }
  const chosen = tenant === '' ? named : tenant;
  return chosen ?? rejectRequest('tenant_header_required', 'X-Tenant-ID', '');
}

async function revokeToken({ store, cache }: TokenEnv, { params, tenant, isDryRun }: ApiCall): Promise<RouteResult> {
  const id = params['id']!;
  return retryOnConflict('token', async () => {
    await cache.barrier();
    const entry = findToken(cache, tenant, id);
    if (!entry) return rejectRequest('resource_not_found', 'id', id);
    const view = toTokenResponse(value<StoredToken>(entry));
    if (isDryRun) return replyDryRun({ before: view });
    if (!(await waitUntilStored(cache, remove(store, entry)))) return undefined;
    return replyJson(200, { ...view, alterations: [], warnings: [] });
  });
}

function findToken(cache: Cache, tenant: string, id: string): Entry | undefined {
  const entry = TOKEN_ID.test(id) ? cache.get(keys.token(id)) : undefined;
  return entry && (value<StoredToken>(entry).tenant ?? PLATFORM) === tenant ? entry : undefined;
}

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

/**
 * The keys of a node's tokens but the newest `keep`. A writer that deletes them guards the record of the node and has
 * waited for the cache, so that no token is made meanwhile that it does not see.
 */
export function listOlderNodeTokens(cache: Cache, nodeId: string, keep: number): readonly string[] {
  const newestFirst = cache.by(BY_NODE, nodeId).toSorted((a, b) => b.created - a.created);
  return newestFirst.slice(keep).map(({ key }) => key);
}

/** How long the record of a token outlives the token. */
const AFTERLIFE_SECONDS = 3_600;

/** Stores a new token of a tenant that exists, or of the platform, if `more` holds. False when it or the tenant does not. */
export async function storeToken(
  { store, cache, clock }: StorageEnv,
  token: StoredToken,
  more: readonly Guard[] = [],
): Promise<boolean> {
  const key = keys.token(token.id);
  const tenant = token.tenant === undefined ? [] : [{ key: keys.tenant(token.tenant), exists: true } as const];
  const put = await putToken(store, token, clock.now());
  return waitUntilStored(
    cache,
    store.commit({ guards: [{ key, at: 0 }, ...tenant, ...more], puts: [put], deletes: [] }),
  );
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
