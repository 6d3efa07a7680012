import { keys, ranges } from '../../../crds/keys/index.js';
import { checkTokenRequest, type StoredToken, type TokenRequest } from '../../../crds/tenant/index.js';
import type { Alteration } from '../../../crds/rule/index.js';
import { type Keyring, type MintedToken, mintToken, type TokenDraft } from '../../../pkg/auth/index.js';
import { type Cache, encode, type Entry, value } from '../../../pkg/store/index.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import type { PlannedPut } from '../../write/committer.js';
import { write, type WriteEnv, type Writing } from '../../write/write.js';
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
    defineRoute('admin', 'POST', '/api/v1/tokens', call => write(env, call, creation), { tenant }),
    defineRoute('admin', 'DELETE', '/api/v1/tokens/{id}', call => write(env, call, revocation), { tenant }),
  ];
}

/** A client that was only handed a token finds out with it what it may ask for. */
function showCaller({ caller: { id, token } }: ApiCall): RouteResult {
  return token ? replyJson(200, toTokenResponse(token)) : rejectRequest('resource_not_found', 'id', id);
}

/** A token that was made, and what was asked for. */
interface JudgedToken extends MintedToken {
  readonly draft: TokenDraft;
  readonly alterations?: readonly Alteration[];
}

type DraftedToken = TokenDraft | { readonly draft: TokenDraft; readonly alterations: readonly Alteration[] };

/** How a token is made of what a request asks for. `toMore` is answered beside it. */
export function defineTokenCreation<Env extends TokenEnv>(
  toDraft: (call: ApiCall, now: string) => DraftedToken | RequestRejection,
  toMore: (env: Env) => object = () => ({}),
  issuer?: string,
): Writing<Env, undefined, JudgedToken> {
  return {
    name: 'token',
    judge: ({ call, now, random }, { cache, keyring }) => {
      const drafted = toDraft(call, now);
      if (drafted instanceof RequestRejection) return drafted;
      const asked = 'draft' in drafted ? drafted : { draft: drafted };
      const { tenant } = asked.draft;
      if (tenant !== undefined && !cache.get(keys.tenant(tenant))) {
        return rejectRequest('resource_not_found', 'tenant', tenant);
      }
      return { ...asked, ...mintToken(asked.draft, { keyring, random, clock: { now: () => Date.parse(now) } }) };
    },
    plan: ({ now }, { stored, draft, alterations }) => ({
      record: toTokenPut(stored, now),
      guards: [
        ...(stored.tenant === undefined ? [] : [{ key: keys.tenant(stored.tenant), exists: true } as const]),
        ...(issuer === undefined ? [] : [{ key: keys.token(issuer), exists: true } as const]),
      ],
      after: draft,
      alterations,
      location: `/api/v1/tokens/${stored.id}`,
    }),
    show: (env, _written, _given, { text, stored }) => ({ token: text, ...toMore(env), ...toTokenResponse(stored) }),
  };
}

const creation = defineTokenCreation(call => {
  const checked = checkTokenRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { kind, description, role, expiresInSeconds: lifeSeconds, alterations } = checked.value;
  const tenant = resolveTokenTenant(call, checked.value);
  if (tenant instanceof RequestRejection) return tenant;
  const owner = { ...(role !== undefined && { role }), ...(tenant !== undefined && { tenant }) };
  return { draft: { kind, description, createdBy: call.caller.id, lifeSeconds, ...owner }, alterations };
});

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

const revocation: Writing<TokenEnv, undefined, TokenResponse> = {
  name: 'token',
  find: ({ cache }, { tenant, params }) =>
    findToken(cache, tenant, params['id']!) ?? rejectRequest('resource_not_found', 'id', params['id']!),
  judge: ({ stored }) => toTokenResponse(value<StoredToken>(stored!)),
  plan: ({ stored }, before) => ({ deletes: [stored!.key], before }),
  show: (_env, _written, _given, before) => before,
};

function findToken(cache: Cache, tenant: string, id: string): Entry | undefined {
  const entry = TOKEN_ID.test(id) ? cache.get(keys.token(id)) : undefined;
  return entry && (value<StoredToken>(entry).tenant ?? PLATFORM) === tenant ? entry : undefined;
}

/** What tokens are minted and stored with. */
export interface TokenEnv extends WriteEnv {
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

/**
 * The put of a token. Node and join tokens are many and short-lived: they vanish by themselves, so that they need no clean-up.
 * A person's token does not depend on a lease.
 */
export function toTokenPut(token: StoredToken, now: string): PlannedPut {
  const put = { key: keys.token(token.id), bytes: encode(token) };
  if (token.kind === 'tenant' || token.kind === 'admin') return put;
  const remaining = Math.ceil((Date.parse(token.expiresAt) - Date.parse(now)) / 1000);
  return { ...put, seconds: Math.max(1, remaining) + AFTERLIFE_SECONDS };
}
