import { keys, ranges } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkTenantRequest, type StoredTenant } from '../../../crds/tenant/index.js';
import { ConflictFault, create, type Entry } from '../../../pkg/store/index.js';
import type { Call } from '../../http/call.js';
import type { ApiEnv } from '../../env.js';
import { listPage } from '../../http/listing.js';
import { flagIn, WRITE_QUERY } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { etag, json, jsonBytes } from '../../http/reply.js';
import type { Outcome, Route } from '../../http/route.js';
import { trialReply } from '../../admission/dry-run.js';
import { untilShown } from '../../http/concurrency.js';

const UUID = /^[0-9a-f-]{36}$/;

/** Tenants: made and listed by the platform's administrators; each can see its own. */
export function tenantRoutes(env: ApiEnv): readonly Route[] {
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

async function make({ store, cache, clock, random }: ApiEnv, { document, query }: Call): Promise<Outcome> {
  const isTrial = flagIn(query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const checked = checkTenantRequest(document);
  if (!checked.ok) return new Refused(checked.rejections);
  if (isTrial) return trialReply({ after: { name: checked.value.name } });
  const tenant: StoredTenant = {
    id: random.uuid(),
    name: checked.value.name,
    createdAt: new Date(clock.now()).toISOString(),
    platform: false,
  };
  const verdict = await create(store, keys.tenant(tenant.id), tenant);
  if (!verdict.stored) throw new ConflictFault(keys.tenant(tenant.id), 1);
  await untilShown(cache, verdict.revision);
  return json(201, { ...tenant, alterations: [], warnings: [] }, etag(verdict.revision));
}

async function list({ cache }: ApiEnv, call: Call): Promise<Outcome> {
  await cache.barrier();
  const { entries, revision } = cache.snapshot(ranges.tenants);
  return listPage(call, { entries, revision, prefix: ranges.tenants, view: ({ bytes }: Entry) => bytes });
}

async function get({ cache }: ApiEnv, { caller, params }: Call): Promise<Outcome> {
  await cache.barrier();
  const id = params['tenant']!;
  const isVisible = UUID.test(id) && (caller.kind === 'admin' || caller.tenant === id);
  const entry = isVisible ? cache.get(keys.tenant(id)) : undefined;
  return entry
    ? jsonBytes(200, entry.bytes, etag(entry.revision))
    : new Refused(reject('resource_not_found', 'tenant', id));
}
