import { keys, ranges } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkTokenRequest, type StoredToken, type TokenRequest } from '../../../crds/tenant/index.js';
import { mintToken } from '../../../pkg/auth/index.js';
import { type Cache, ConflictFault, type Entry, remove, value } from '../../../pkg/store/index.js';
import { trialReply } from '../../admission/dry-run.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { untilShown } from '../../http/concurrency.js';
import { listPage } from '../../http/listing.js';
import { flagIn, WRITE_QUERY } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { json } from '../../http/reply.js';
import type { Outcome, Route } from '../../http/route.js';
import { storeToken, tokenView } from './token.js';

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
export function tokenRoutes(env: ApiEnv): readonly Route[] {
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

async function make(env: ApiEnv, call: Call): Promise<Outcome> {
  const isTrial = flagIn(call.query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const checked = checkTokenRequest(call.document);
  if (!checked.ok) return new Refused(checked.rejections);
  const asked = checked.value;
  const tenant = tenantOf(call, asked);
  if (tenant instanceof Refused) return tenant;

  const draft = {
    kind: asked.kind,
    description: asked.description,
    createdBy: call.caller.id,
    lifeSeconds: asked.expiresInSeconds,
    ...(asked.role !== undefined && { role: asked.role }),
    ...(tenant !== undefined && { tenant }),
  };
  if (isTrial) return trialReply({ after: draft });
  const minted = mintToken(draft, env);
  if (!(await storeToken(env, minted.stored))) return new Refused(reject('resource_not_found', 'tenant', tenant ?? ''));
  return json(201, { token: minted.text, ...tokenView(minted.stored), alterations: [], warnings: [] });
}

/** Whose token it is to be; undefined for the platform's. */
function tenantOf({ caller, tenant }: Call, asked: TokenRequest): string | Refused | undefined {
  if (asked.kind === 'admin') {
    if (caller.kind === 'admin') return undefined;
    const needed = 'an administrator token';
    return new Refused(reject('auth_forbidden', 'kind', asked.kind, { needed }));
  }
  if (asked.tenant !== undefined && tenant !== '' && asked.tenant !== tenant) {
    return new Refused(reject('tenant_mismatch', 'tenant', asked.tenant));
  }
  const chosen = tenant === '' ? asked.tenant : tenant;
  return chosen ?? new Refused(reject('tenant_header_required', 'X-Tenant-ID', ''));
}

async function list({ cache }: ApiEnv, call: Call): Promise<Outcome> {
  await cache.barrier();
  return listPage(call, {
    entries: cache.by(BY_TENANT, call.tenant || PLATFORM),
    revision: cache.revision,
    prefix: ranges.tokens,
    view: entry => Buffer.from(JSON.stringify(tokenView(value<StoredToken>(entry)))),
  });
}

async function revoke({ store, cache }: ApiEnv, { params, tenant, query }: Call): Promise<Outcome> {
  const isTrial = flagIn(query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const id = params['id']!;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    await cache.barrier();
    const entry = findToken(cache, tenant, id);
    if (!entry) return new Refused(reject('resource_not_found', 'id', id));
    if (isTrial) return trialReply({ before: tokenView(value<StoredToken>(entry)) });
    const verdict = await remove(store, entry);
    if (!verdict.stored) continue;
    await untilShown(cache, verdict.revision);
    return json(200, { ...tokenView(value<StoredToken>(entry)), alterations: [], warnings: [] });
  }
  throw new ConflictFault(keys.token(id), ATTEMPTS);
}

function findToken(cache: Cache, tenant: string, id: string): Entry | undefined {
  const entry = TOKEN_ID.test(id) ? cache.get(keys.token(id)) : undefined;
  return entry && (value<StoredToken>(entry).tenant ?? PLATFORM) === tenant ? entry : undefined;
}
