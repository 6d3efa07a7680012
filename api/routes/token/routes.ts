import { keys, ranges } from '../../../crds/keys/index.js';
import { checkTokenRequest, type StoredToken, type TokenRequest } from '../../../crds/tenant/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import { type Cache, type Entry, remove, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import type { ReaderOptions } from '../kind-routes.js';
import { storeToken, type TokenEnv, toTokenResponse } from './token.js';

const BY_TENANT = 'api.tokens-by-tenant';
/** The index key of the platform's own tokens: no tenant can have this id. */
const PLATFORM = '';
const TOKEN_ID = /^[0-9A-Za-z]{16}$/;

/** Indexes tokens by their tenant. To be called once, before the cache is filled. */
export function defineTokenIndex(cache: Cache): void {
  cache.defineIndex(BY_TENANT, ranges.tokens, entry => [value<StoredToken>(entry).tenant ?? PLATFORM]);
}

/** Tokens are listed by administrators: those of a tenant, or those of the platform. */
export function tokenReader({ cache }: Pick<TokenEnv, 'cache'>): ReaderOptions {
  return {
    listRights: { access: { tenant: 'admin', admin: true }, tenant: 'chosen' },
    readSource: ({ tenant }) => ({
      entries: cache.by(BY_TENANT, tenant || PLATFORM),
      revision: cache.revision,
      prefix: ranges.tokens,
      view: entry => Buffer.from(JSON.stringify(toTokenResponse(value<StoredToken>(entry)))),
    }),
  };
}

/** Tokens: created and revoked by the administrators of a tenant, or by the platform's. */
export function tokenRoutes(env: TokenEnv): readonly Route[] {
  const tenant = 'chosen';
  return [
    defineRoute('admin', 'POST', '/api/v1/tokens', call => createToken(env, call), { tenant }),
    defineRoute('admin', 'DELETE', '/api/v1/tokens/{id}', call => revokeToken(env, call), { tenant }),
  ];
}

async function createToken(env: TokenEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkTokenRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { kind, description, role, expiresInSeconds: lifeSeconds } = checked.value;
  const tenant = resolveTokenTenant(call, checked.value);
  if (tenant instanceof RequestRejection) return tenant;

  const owner = { ...(role !== undefined && { role }), ...(tenant !== undefined && { tenant }) };
  const draft = { kind, description, createdBy: call.caller.id, lifeSeconds, ...owner };
  if (call.isDryRun) return replyDryRun({ after: draft });
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored))) return rejectRequest('resource_not_found', 'tenant', tenant ?? '');
  return replyJson(201, { token: minted.text, ...toTokenResponse(minted.stored), alterations: [], warnings: [] });
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
