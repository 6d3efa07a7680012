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
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { checkIfMatch } from '../../write/if-match.js';
import { formatCursor } from '../../http/listing.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { applyRecommendation } from './apply.js';

const COLLECTION = '/api/v1/dvm/recommendations';
const AUTO_APPLY = `${COLLECTION}/auto-apply`;

/** Recommendations: computed on every read, and applied when a user asks for it. The tenant is always named. */
export function createRecommendationRoutes(env: AdmissionEnv): readonly Route[] {
  const tenant = 'named';
  const query = recommendationParameters;
  return [
    defineRoute('viewer', 'GET', COLLECTION, call => listRecommendations(env, call), { tenant, query }),
    defineRoute('deployer', 'POST', `${COLLECTION}/{id}/apply`, call => applyRecommendation(env, call), { tenant }),
    defineRoute('viewer', 'GET', AUTO_APPLY, call => showAutoApply(env, call), { tenant }),
    defineRoute('admin', 'PUT', AUTO_APPLY, call => putAutoApply(env, call), { tenant }),
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
async function putAutoApply(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkAutoApply(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { growth } = checked.value;
  return retryOnConflict('tenant', async () => {
    await env.cache.barrier();
    const entry = env.cache.get(keys.tenant(call.tenant));
    if (!entry) return rejectRequest('resource_not_found', 'X-Tenant-ID', call.tenant);
    const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, entry);
    if (mismatch) return mismatch;
    const before = toAutoApply(entry);
    if (call.isDryRun) return replyDryRun({ before, after: { growth } });
    if (before.growth !== growth) {
      const { autoGrow: _, ...rest } = value<StoredTenant>(entry);
      const next: StoredTenant = { ...rest, ...(growth && { autoGrow: true as const }) };
      const event = await env.events.put({
        type: 'recommendation.auto_apply_changed',
        tenant: call.tenant,
        subject: { kind: 'Tenant', name: rest.name, id: rest.id },
        reason: 'auto_apply_changed',
        message: `volumes are ${growth ? '' : 'not '}grown as recommended ${growth ? 'from now on' : 'any more'}, by ${describeCaller(call.caller)}`,
        data: { growth, by: call.caller.id },
      });
      const guards = [{ key: entry.key, at: entry.revision }];
      const write = env.store.commit({ guards, puts: [{ key: entry.key, bytes: encode(next) }, event], deletes: [] });
      if (!(await waitUntilStored(env.cache, write))) return undefined;
    }
    const now = env.cache.get(entry.key) ?? entry;
    return replyJson(200, { ...toAutoApply(now), alterations: [], warnings: [] }, buildEtagHeader(now.revision));
  });
}
