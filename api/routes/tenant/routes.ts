import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../../crds/keys/index.js';
import { checkQuotaRequest, quotaKinds } from '../../../crds/kinds/index.js';
import { checkTenantRequest, type StoredTenant } from '../../../crds/tenant/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import type { QuotaEnv } from '../../admission/env.js';
import { readQuotas } from '../../admission/quota.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import {
  type ApiCall,
  defineRoute,
  describeCaller,
  type Route,
  type RouteResult,
  type StorageEnv,
} from '../../http/route.js';
import { write, type Writing } from '../../write/write.js';
import type { ReaderOptions } from '../kind-routes.js';
import { type RemovalEnv, removeTenant, showRemains } from './remove.js';

type TenantEnv = RemovalEnv & QuotaEnv;

const UUID = /^[0-9a-f-]{36}$/;
const SELF = 'self';
const TENANTS = '/api/v1/tenants';
const QUOTAS = `${TENANTS}/{tenant}/quotas`;

/** Tenants and their quotas: written by the platform's administrators; each tenant can see its own. */
export function createTenantRoutes(env: TenantEnv): readonly Route[] {
  const platform = { admin: true } as const;
  return [
    defineRoute(platform, 'POST', TENANTS, call => write(env, call, creation), { tenant: 'none' }),
    defineRoute(platform, 'DELETE', `${TENANTS}/{tenant}`, call => removeTenant(env, call), { tenant: 'none' }),
    defineRoute(platform, 'GET', `${TENANTS}/{tenant}/remains`, call => showRemains(env, call), { tenant: 'none' }),
    defineRoute('viewer', 'GET', QUOTAS, call => getQuotas(env, call), { tenant: 'chosen' }),
    defineRoute(platform, 'PUT', QUOTAS, call => write(env, call, quotaChange), { tenant: 'chosen' }),
  ];
}

const creation: Writing<TenantEnv, undefined, { readonly name: string }> = {
  name: 'tenant',
  judge: ({ call }) => {
    const checked = checkTenantRequest(call.document);
    return checked.ok ? checked.value : new RequestRejection(checked.rejections);
  },
  plan: ({ now, random }, { name }) => {
    const tenant: StoredTenant = { id: random.uuid(), name, createdAt: now, platform: false };
    return {
      record: { key: keys.tenant(tenant.id), bytes: encode(tenant) },
      after: { name },
      location: `${TENANTS}/${tenant.id}`,
    };
  },
  show: (_env, tenant) => value<StoredTenant>(tenant),
};

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

type Limits = Readonly<Record<string, number | null>>;

/** Replaces every limit that was set for the tenant: those that are not sent are as configured. */
const quotaChange: Writing<TenantEnv, undefined, Limits> = {
  name: 'tenant',
  find: findTenant,
  judge: ({ call }) => {
    const checked = checkQuotaRequest(call.document);
    return checked.ok ? (checked.value as Limits) : new RequestRejection(checked.rejections);
  },
  plan: ({ call, stored }, limits) => {
    const { quotas = {}, ...tenant } = value<StoredTenant>(stored!);
    const tried = { before: { quotas }, after: { quotas: limits } };
    if (isDeepStrictEqual(quotas, limits)) return tried;
    const isSet = Object.keys(limits).length > 0;
    return {
      ...tried,
      record: { key: stored!.key, bytes: encode({ ...tenant, ...(isSet && { quotas: limits }) }) },
      events: [draftEvent(call, tenant, quotas, limits)],
    };
  },
  show: toQuotaView,
};

/** The event of limits that were set, in the tenant's own events. */
function draftEvent(
  { caller }: ApiCall,
  { id, name }: Pick<StoredTenant, 'id' | 'name'>,
  before: Limits,
  after: Limits,
): EventDraft {
  const show = (limit: number | null | undefined) =>
    limit === undefined ? 'as configured' : limit === null ? 'unlimited' : String(limit);
  const changes = quotaKinds
    .filter(kind => before[kind] !== after[kind])
    .map(kind => ({ kind, from: show(before[kind]), to: show(after[kind]) }));
  const words = changes.map(({ kind, from, to }) => `${kind} ${from} → ${to}`).join(', ');
  return {
    type: 'quota.changed',
    tenant: id,
    subject: { kind: 'Tenant', name, id },
    reason: 'quotas_changed',
    message: `quotas were changed by ${describeCaller(caller)}: ${words}`,
    data: { by: caller.id, changes },
  };
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
