import { keys } from '../../../crds/keys/index.js';
import {
  checkAutoApply,
  checkRecommendationQuery,
  type Recommendation,
  recommendationParameters,
} from '../../../crds/recommendation/index.js';
import type { StoredTenant } from '../../../crds/tenant/index.js';
import { readRestoreEpoch } from '../../../pkg/link/index.js';
import { readTenantState, readVolumeStates, recommend } from '../../../pkg/recommend/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { formatCursor } from '../../http/listing.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { write, type Writing } from '../../write/write.js';
import { application } from './apply.js';

const COLLECTION = '/api/v1/dvm/recommendations';
const AUTO_APPLY = `${COLLECTION}/auto-apply`;

/** Recommendations: computed on every read, and applied when a user asks for it. The tenant is always named. */
export function createRecommendationRoutes(env: AdmissionEnv): readonly Route[] {
  const tenant = 'named';
  const query = recommendationParameters;
  return [
    defineRoute('viewer', 'GET', COLLECTION, call => listRecommendations(env, call), { tenant, query }),
    defineRoute('deployer', 'POST', `${COLLECTION}/{id}/apply`, call => write(env, call, application), { tenant }),
    defineRoute('viewer', 'GET', AUTO_APPLY, call => showAutoApply(env, call), { tenant }),
    defineRoute('admin', 'PUT', AUTO_APPLY, call => write(env, call, autoApply), { tenant }),
  ];
}

/** All of them at once, the most urgent first: they are few, and there is nothing to continue from. */
async function listRecommendations(env: AdmissionEnv, { tenant, query }: ApiCall): Promise<RouteResult> {
  const checked = checkRecommendationQuery(Object.fromEntries(query), tenant);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { priority, type } = checked.value;
  await env.cache.barrier();
  const items = computeRecommendations(env, tenant).filter(
    each => (priority === undefined || each.priority === priority) && (type === undefined || each.type === type),
  );
  const revision = formatCursor(String(env.cache.revision), readRestoreEpoch(env.cache));
  return replyJson(200, { items, revision, next: null });
}

/** What holds for the volumes of a tenant now. */
function computeRecommendations(
  { cache, placementPolicy: policy, clock }: AdmissionEnv,
  tenant: string,
): readonly Recommendation[] {
  return recommend(readVolumeStates(cache, tenant), readTenantState({ cache, policy }, tenant, clock.now()));
}

async function showAutoApply(env: AdmissionEnv, { tenant }: ApiCall): Promise<RouteResult> {
  await env.cache.barrier();
  const entry = env.cache.get(keys.tenant(tenant));
  return entry
    ? replyJson(200, toAutoApply(entry), buildEtagHeader(entry.revision))
    : rejectRequest('resource_not_found', 'X-Tenant-ID', tenant);
}

function toAutoApply(entry: Entry) {
  return { growth: value<StoredTenant>(entry).autoGrow === true };
}

/** Switches on or off that volumes are grown as recommended. */
const autoApply: Writing<AdmissionEnv, undefined, { readonly growth: boolean }> = {
  name: 'tenant',
  find: ({ cache }, { tenant }) => cache.get(keys.tenant(tenant)),
  judge: ({ call }) => {
    const checked = checkAutoApply(call.document);
    return checked.ok ? checked.value : new RequestRejection(checked.rejections);
  },
  plan: ({ call: { tenant, caller }, stored }, { growth }) => {
    const before = toAutoApply(stored!);
    const after = { growth };
    if (before.growth === growth) return { before, after };
    const { autoGrow: _, ...rest } = value<StoredTenant>(stored!);
    const next: StoredTenant = { ...rest, ...(growth && { autoGrow: true as const }) };
    const event = {
      type: 'recommendation.auto_apply_changed',
      tenant,
      subject: { kind: 'Tenant', name: rest.name, id: rest.id },
      reason: 'auto_apply_changed',
      message: `volumes are ${growth ? '' : 'not '}grown as recommended ${growth ? 'from now on' : 'any more'}, by ${describeCaller(caller)}`,
      data: { growth, by: caller.id },
    } as const;
    return { record: { key: stored!.key, bytes: encode(next) }, events: [event], before, after };
  },
  show: (_env, tenant) => toAutoApply(tenant),
};
