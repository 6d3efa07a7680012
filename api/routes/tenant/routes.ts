import { keys } from '../../../crds/keys/index.js';
import { checkQuotaRequest, quotaKinds } from '../../../crds/kinds/index.js';
import { checkTenantRequest, type StoredTenant } from '../../../crds/tenant/index.js';
import { ConflictFault, create, encode, type Entry, type Put, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../write/answer.js';
import type { EventEnv, QuotaEnv } from '../../admission/env.js';
import { readQuotas } from '../../admission/quota.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { waitUntilCached } from '../../write/committer.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import {
  type ApiCall,
  defineRoute,
  describeCaller,
  type Route,
  type RouteResult,
  type StorageEnv,
} from '../../http/route.js';
import type { ReaderOptions } from '../kind-routes.js';
import { type RemovalEnv, removeTenant, showRemains } from './remove.js';

type TenantEnv = RemovalEnv & QuotaEnv & Pick<EventEnv, 'events'>;

const UUID = /^[0-9a-f-]{36}$/;
const SELF = 'self';
const TENANTS = '/api/v1/tenants';
const QUOTAS = `${TENANTS}/{tenant}/quotas`;

/** Tenants and their quotas: written by the platform's administrators; each tenant can see its own. */
export function createTenantRoutes(env: TenantEnv): readonly Route[] {
  const platform = { admin: true } as const;
  return [
    defineRoute(platform, 'POST', TENANTS, call => createTenant(env, call), { tenant: 'none' }),
    defineRoute(platform, 'DELETE', `${TENANTS}/{tenant}`, call => removeTenant(env, call), { tenant: 'none' }),
    defineRoute(platform, 'GET', `${TENANTS}/{tenant}/remains`, call => showRemains(env, call), { tenant: 'none' }),
    defineRoute('viewer', 'GET', QUOTAS, call => getQuotas(env, call), { tenant: 'chosen' }),
    defineRoute(platform, 'PUT', QUOTAS, call => replaceQuotas(env, call), { tenant: 'chosen' }),
  ];
}

async function createTenant(env: TenantEnv, { document, isDryRun }: ApiCall): Promise<RouteResult> {
  const checked = checkTenantRequest(document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { name } = checked.value;
  if (isDryRun) return replyDryRun({ after: { name } });
  const createdAt = new Date(env.clock.now()).toISOString();
  const tenant: StoredTenant = { id: env.random.uuid(), name, createdAt, platform: false };
  const verdict = await create(env.store, keys.tenant(tenant.id), tenant);
  if (!verdict.stored) throw new ConflictFault(keys.tenant(tenant.id), 1);
  await waitUntilCached(env.cache, verdict.revision);
  return replyJson(201, { ...tenant, alterations: [], warnings: [] }, buildEtagHeader(verdict.revision));
}

/** Administrators of the platform see every tenant, and a tenant sees itself. */
export function createTenantReader(env: Pick<StorageEnv, 'cache'>): ReaderOptions {
  const getRights = { access: { tenant: 'viewer', admin: true }, tenant: 'chosen' } as const;
  return { getRights, find: call => findTenant(env, call) };
}

/** The tenant that the path names, where the caller may see it; `self` is the tenant that the call is about. */
function findTenant(
  { cache }: Pick<StorageEnv, 'cache'>,
  { caller, params, tenant }: ApiCall,
): Entry | RequestRejection {
  const named = params['tenant']!.toLowerCase();
  if (named === SELF && tenant === '') return rejectRequest('tenant_header_required', 'X-Tenant-ID', '');
  const id = named === SELF ? tenant : named;
  const isVisible = UUID.test(id) && (caller.kind === 'admin' || caller.tenant === id);
  const entry = isVisible ? cache.get(keys.tenant(id)) : undefined;
  return entry ?? rejectRequest('resource_not_found', 'tenant', id);
}

async function getQuotas(env: TenantEnv, call: ApiCall): Promise<RouteResult> {
  await env.cache.barrier();
  const entry = findTenant(env, call);
  if (entry instanceof RequestRejection) return entry;
  return replyJson(200, toQuotaView(env, entry), buildEtagHeader(entry.revision));
}

/** Replaces every limit that was set for the tenant: those that are not sent are as configured. */
async function replaceQuotas(env: TenantEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkQuotaRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  return retryOnConflict('tenant', async () => {
    await env.cache.barrier();
    const entry = findTenant(env, call);
    if (entry instanceof RequestRejection) return entry;
    const { quotas, ...tenant } = value<StoredTenant>(entry);
    if (call.isDryRun) return replyDryRun({ before: { quotas: quotas ?? {} }, after: { quotas: checked.value } });
    const isSet = Object.keys(checked.value).length > 0;
    const next = { ...tenant, ...(isSet && { quotas: checked.value }) };
    const events = await putQuotaEvents(env, call, next, quotas ?? {}, checked.value);
    const guards = [{ key: entry.key, at: entry.revision }];
    const change = { guards, puts: [{ key: entry.key, bytes: encode(next) }, ...events], deletes: [] };
    if (!(await waitUntilStored(env.cache, env.store.commit(change)))) return undefined;
    const now = env.cache.get(entry.key) ?? entry;
    return replyJson(200, { ...toQuotaView(env, now), alterations: [], warnings: [] }, buildEtagHeader(now.revision));
  });
}

type Limits = Readonly<Record<string, number | null>>;

/** The event of limits that were set, in the tenant's own events. None when they are as before. */
async function putQuotaEvents(
  { events }: TenantEnv,
  { caller }: ApiCall,
  { id, name }: StoredTenant,
  before: Limits,
  after: Limits,
): Promise<readonly Put[]> {
  const show = (limit: number | null | undefined) =>
    limit === undefined ? 'as configured' : limit === null ? 'unlimited' : String(limit);
  const changes = quotaKinds
    .filter(kind => before[kind] !== after[kind])
    .map(kind => ({ kind, from: show(before[kind]), to: show(after[kind]) }));
  if (changes.length === 0) return [];
  const words = changes.map(({ kind, from, to }) => `${kind} ${from} → ${to}`).join(', ');
  const put = await events.put({
    type: 'quota.changed',
    tenant: id,
    subject: { kind: 'Tenant', name, id },
    reason: 'quotas_changed',
    message: `quotas were changed by ${describeCaller(caller)}: ${words}`,
    data: { by: caller.id, changes },
  });
  return [put];
}

/** Every kind with its limit (null for none), how much of it is used, and where the limit was set. */
function toQuotaView(env: TenantEnv, entry: Entry) {
  const { id, quotas: own = {} } = value<StoredTenant>(entry);
  const limits = readQuotas(env, id);
  const used = env.usage.of(id);
  const kinds = quotaKinds.map(kind => [
    kind,
    { limit: limits[kind] ?? null, used: used[kind], set: kind in own ? 'tenant' : 'configuration' },
  ]);
  return { tenant: id, quotas: Object.fromEntries(kinds) as Readonly<Record<string, unknown>> };
}
