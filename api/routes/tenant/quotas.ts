import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { type StoredTenant } from '../../../crds/tenant/index.js';
import { checkQuotaRequest, quotaKinds } from '../../../crds/kinds/index.js';
import { type Entry, replace, value } from '../../../pkg/store/index.js';
import { readQuotas } from '../../admission/quota.js';
import type { QuotaEnv } from '../../admission/env.js';
import type { StorageEnv } from '../../http/call.js';
import type { ApiCall } from '../../http/call.js';
import { retryOnConflict, waitUntilCached } from '../../http/concurrency.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { replyDryRun } from '../../admission/dry-run.js';

type TenantQuotaEnv = StorageEnv & QuotaEnv;

const UUID = /^[0-9a-f-]{36}$/;
const PATH = '/api/v1/tenants/{tenant}/quotas';

/** Quotas: what a tenant may have. Each can see its own; the platform's administrators set them. */
export function quotaRoutes(env: TenantQuotaEnv): readonly Route[] {
  return [
    {
      method: 'GET',
      path: PATH,
      access: { tenant: 'viewer', admin: true },
      tenant: 'chosen',
      query: [],
      body: 'none',
      handle: call => get(env, call),
    },
    {
      method: 'PUT',
      path: PATH,
      access: { admin: true },
      tenant: 'none',
      query: WRITE_QUERY,
      body: 'json',
      handle: call => put(env, call),
    },
  ];
}

async function find({ cache }: TenantQuotaEnv, { caller, params }: ApiCall): Promise<Entry | RequestRejection> {
  await cache.barrier();
  const id = params['tenant']!;
  const isVisible = UUID.test(id) && (caller.kind === 'admin' || caller.tenant === id);
  const entry = isVisible ? cache.get(keys.tenant(id)) : undefined;
  return entry ?? new RequestRejection(reject('resource_not_found', 'tenant', id));
}

async function get(env: TenantQuotaEnv, call: ApiCall): Promise<RouteResult> {
  const entry = await find(env, call);
  return entry instanceof RequestRejection ? entry : replyJson(200, view(env, entry), etagHeader(entry.revision));
}

/** Replaces all that was set for the tenant: what is not sent is as configured. */
async function put(env: TenantQuotaEnv, call: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(call.query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const checked = checkQuotaRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  return retryOnConflict('tenant', async () => {
    const entry = await find(env, call);
    if (entry instanceof RequestRejection) return entry;
    const { quotas, ...tenant } = value<StoredTenant>(entry);
    if (isDryRun) return replyDryRun({ before: { quotas: quotas ?? {} }, after: { quotas: checked.value } });
    const isSet = Object.keys(checked.value).length > 0;
    const verdict = await replace(env.store, entry, { ...tenant, ...(isSet && { quotas: checked.value }) });
    if (!verdict.stored) return undefined;
    await waitUntilCached(env.cache, verdict.revision);
    const now = env.cache.get(entry.key) ?? entry;
    return replyJson(200, { ...view(env, now), alterations: [], warnings: [] }, etagHeader(now.revision));
  });
}

/** Every kind with its limit, null where there is none, how much is taken, and who has settled it. */
function view(env: TenantQuotaEnv, entry: Entry) {
  const { id, quotas: own = {} } = value<StoredTenant>(entry);
  const limits = readQuotas(env, id);
  const used = env.usage.of(id);
  const kinds = quotaKinds.map(kind => [
    kind,
    { limit: limits[kind] ?? null, used: used[kind], set: kind in own ? 'tenant' : 'configuration' },
  ]);
  return { tenant: id, quotas: Object.fromEntries(kinds) as Readonly<Record<string, unknown>> };
}
