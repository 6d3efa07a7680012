import { keys, ranges } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkTenantRequest, type StoredTenant } from '../../../crds/tenant/index.js';
import { ConflictFault, create, type Entry } from '../../../pkg/store/index.js';
import type { ApiCall } from '../../http/call.js';
import type { StorageEnv } from '../../http/call.js';
import { listPage } from '../../http/listing.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { etagHeader, replyJson, replyJsonBytes } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { replyDryRun } from '../../admission/dry-run.js';
import { waitUntilCached } from '../../http/concurrency.js';

const UUID = /^[0-9a-f-]{36}$/;

/** Tenants: made and listed by the platform's administrators; each can see its own. */
export function tenantRoutes(env: StorageEnv): readonly Route[] {
  const platform = { access: { admin: true }, tenant: 'none' } as const;
  return [
    {
      ...platform,
      method: 'POST',
      path: '/api/v1/tenants',
      query: WRITE_QUERY,
      body: 'json',
      handle: call => make(env, call),
    },
    {
      ...platform,
      method: 'GET',
      path: '/api/v1/tenants',
      query: ['limit', 'continue'],
      body: 'none',
      handle: call => list(env, call),
    },
    {
      method: 'GET',
      path: '/api/v1/tenants/{tenant}',
      access: { tenant: 'viewer', admin: true },
      tenant: 'chosen',
      query: [],
      body: 'none',
      handle: call => get(env, call),
    },
  ];
}

async function make({ store, cache, clock, random }: StorageEnv, { document, query }: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const checked = checkTenantRequest(document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  if (isDryRun) return replyDryRun({ after: { name: checked.value.name } });
  const tenant: StoredTenant = {
    id: random.uuid(),
    name: checked.value.name,
    createdAt: new Date(clock.now()).toISOString(),
    platform: false,
  };
  const verdict = await create(store, keys.tenant(tenant.id), tenant);
  if (!verdict.stored) throw new ConflictFault(keys.tenant(tenant.id), 1);
  await waitUntilCached(cache, verdict.revision);
  return replyJson(201, { ...tenant, alterations: [], warnings: [] }, etagHeader(verdict.revision));
}

async function list({ cache }: StorageEnv, call: ApiCall): Promise<RouteResult> {
  await cache.barrier();
  const { entries, revision } = cache.snapshot(ranges.tenants);
  return listPage(call, { entries, revision, prefix: ranges.tenants, view: ({ bytes }: Entry) => bytes });
}

async function get({ cache }: StorageEnv, { caller, params }: ApiCall): Promise<RouteResult> {
  await cache.barrier();
  const id = params['tenant']!;
  const isVisible = UUID.test(id) && (caller.kind === 'admin' || caller.tenant === id);
  const entry = isVisible ? cache.get(keys.tenant(id)) : undefined;
  return entry
    ? replyJsonBytes(200, entry.bytes, etagHeader(entry.revision))
    : new RequestRejection(reject('resource_not_found', 'tenant', id));
}
