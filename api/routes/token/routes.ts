import { keys, ranges } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkTokenRequest, type StoredToken, type TokenRequest } from '../../../crds/tenant/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import { type Cache, ConflictFault, type Entry, remove, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import type { ApiCall } from '../../http/call.js';
import { waitUntilCached } from '../../http/concurrency.js';
import { listPage } from '../../http/listing.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { storeToken, toTokenResponse, type TokenEnv } from './token.js';

const BY_TENANT = 'api.tokens-by-tenant';
/** Where the platform's own tokens are filed: no tenant can have this id. */
const PLATFORM = '';
const ATTEMPTS = 5;
const TOKEN_ID = /^[0-9A-Za-z]{16}$/;

/** Files tokens by their tenant. To be called once, before the cache is fed. */
export function defineTokenIndex(cache: Cache): void {
  cache.defineIndex(BY_TENANT, ranges.tokens, entry => [value<StoredToken>(entry).tenant ?? PLATFORM]);
}

/** Tokens: made, listed and revoked by the administrators of a tenant, or by the platform's. */
export function tokenRoutes(env: TokenEnv): readonly Route[] {
  const common = { access: { tenant: 'admin', admin: true }, tenant: 'chosen', query: [], body: 'none' } as const;
  return [
    {
      ...common,
      method: 'POST',
      path: '/api/v1/tokens',
      query: WRITE_QUERY,
      body: 'json',
      handle: call => make(env, call),
    },
    {
      ...common,
      method: 'GET',
      path: '/api/v1/tokens',
      query: ['limit', 'continue'],
      handle: call => list(env, call),
    },
    { ...common, method: 'DELETE', path: '/api/v1/tokens/{id}', query: WRITE_QUERY, handle: call => revoke(env, call) },
  ];
}

async function make(env: TokenEnv, call: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const checked = checkTokenRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const asked = checked.value;
  const tenant = tenantOf(call, asked);
  if (tenant instanceof RequestRejection) return tenant;

  const draft = {
    kind: asked.kind,
    description: asked.description,
    createdBy: call.caller.id,
    lifeSeconds: asked.expiresInSeconds,
    ...(asked.role !== undefined && { role: asked.role }),
    ...(tenant !== undefined && { tenant }),
  };
  if (isDryRun) return replyDryRun({ after: draft });
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored)))
    return new RequestRejection(reject('resource_not_found', 'tenant', tenant ?? ''));
  return replyJson(201, { token: minted.text, ...toTokenResponse(minted.stored), alterations: [], warnings: [] });
}

/** Whose token it is to be; undefined for the platform's. */
function tenantOf({ caller, tenant }: ApiCall, asked: TokenRequest): string | RequestRejection | undefined {
  if (asked.kind === 'admin') {
    if (caller.kind === 'admin') return undefined;
    const needed = 'an administrator token';
    return new RequestRejection(reject('auth_forbidden', 'kind', asked.kind, { needed }));
  }
  if (asked.tenant !== undefined && tenant !== '' && asked.tenant !== tenant) {
    return new RequestRejection(reject('tenant_mismatch', 'tenant', asked.tenant));
  }
  const chosen = tenant === '' ? asked.tenant : tenant;
  return chosen ?? new RequestRejection(reject('tenant_header_required', 'X-Tenant-ID', ''));
}

async function list({ cache }: TokenEnv, call: ApiCall): Promise<RouteResult> {
  await cache.barrier();
  return listPage(call, {
    entries: cache.by(BY_TENANT, call.tenant || PLATFORM),
    revision: cache.revision,
    prefix: ranges.tokens,
    view: entry => Buffer.from(JSON.stringify(toTokenResponse(value<StoredToken>(entry)))),
  });
}

async function revoke({ store, cache }: TokenEnv, { params, tenant, query }: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const id = params['id']!;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    await cache.barrier();
    const entry = findToken(cache, tenant, id);
    if (!entry) return new RequestRejection(reject('resource_not_found', 'id', id));
    if (isDryRun) return replyDryRun({ before: toTokenResponse(value<StoredToken>(entry)) });
    const verdict = await remove(store, entry);
    if (!verdict.stored) continue;
    await waitUntilCached(cache, verdict.revision);
    return replyJson(200, { ...toTokenResponse(value<StoredToken>(entry)), alterations: [], warnings: [] });
  }
  throw new ConflictFault(keys.token(id), ATTEMPTS);
}

function findToken(cache: Cache, tenant: string, id: string): Entry | undefined {
  const entry = TOKEN_ID.test(id) ? cache.get(keys.token(id)) : undefined;
  return entry && (value<StoredToken>(entry).tenant ?? PLATFORM) === tenant ? entry : undefined;
}
