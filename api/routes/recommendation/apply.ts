import { formatBytes, formatCount } from '../../../crds/grammar/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import {
  type ApplyFacts,
  checkRecommendationApply,
  type Recommendation,
  type VolumeChange,
} from '../../../crds/recommendation/index.js';
import { getVolumePhase, type KnownVolume, type StoredVolume, type VolumeStatus } from '../../../crds/volume/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { findVolumeRoom } from '../../../pkg/fleet/index.js';
import { readTenantState, readVolumeStates, recommend } from '../../../pkg/recommend/index.js';
import { type Cache, type Entry, findRecordFault, listValues, readValue, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { listCountConflictKeys } from '../../admission/quota.js';
import { retryOnConflict } from '../../http/concurrency.js';
import { checkIfMatch } from '../../write/if-match.js';
import { buildEtagHeader, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, describeCaller, type RouteResult } from '../../http/route.js';
import { pickMeasured, rejectAboveQuota, rejectUnmanaged, storeVolumeChange, toVolumeSpec } from '../volume/resize.js';
import { toVolumeResponse } from '../volume/view.js';
import { previewChange } from './preview.js';

/** Applies a recommendation that holds now: judged and stored by the same measurement, or judged again. */
export async function applyRecommendation(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { tenant } = call;
  const id = call.params['id']!;
  return env.mutex.run(listCountConflictKeys(env, tenant, 'volumes'), () =>
    retryOnConflict(id, async () => {
      await env.cache.barrier();
      const facts = readApplyFacts(env, tenant);
      const checked = checkRecommendationApply(id, call.document, facts);
      if (!checked.ok) return new RequestRejection(checked.rejections);
      const change = checked.value;
      const recommendation = facts.recommendations.find(each => each.id === id)!;
      const entry = env.cache.get(keys.volume(tenant, change.volumeId))!;
      const statusKey = keys.volumeStatus(tenant, change.volumeId);
      const measured = env.cache.get(statusKey)?.revision ?? 0;
      const mismatch = checkIfMatch(call.request.headers['if-match'], undefined, { revision: measured });
      if (mismatch) return mismatch;
      const stored = value<StoredVolume>(entry);
      const unmanaged = rejectUnmanaged(env, stored);
      if (unmanaged) return unmanaged;
      const full =
        change.action === 'resize' && rejectAboveQuota(env, stored, change.sizeBytes, 'parameters.target_size_bytes');
      if (full) return full;
      const spec = toSpecChange(change);
      if (call.isDryRun) {
        const before = toVolumeSpec(stored);
        const preview = previewChange(env, stored, change);
        return replyDryRun({ before, after: { ...before, ...spec } }, { recommendation, preview });
      }
      const isStored = Object.entries(spec).every(([field, given]) => stored[field as keyof StoredVolume] === given);
      if (isStored) return answer(env, entry, recommendation, change);
      const event = draftEvent(call, stored, recommendation, change);
      const guards = [{ key: statusKey, at: measured }];
      const next = await storeVolumeChange(env, call, entry, spec, { event, guards });
      return next && answer(env, next, recommendation, change);
    }),
  );
}

/** Everything that a request to apply is judged by, as it is at one moment. */
function readApplyFacts({ cache, placementPolicy: policy, clock }: AdmissionEnv, tenant: string): ApplyFacts {
  const volumes = cache
    .list(ranges.of(ranges.volumes, tenant))
    .filter(entry => findRecordFault(entry) === undefined)
    .map(entry => value<StoredVolume>(entry))
    .filter(({ metadata }) => metadata.deletedAt === undefined);
  const byId = new Map(volumes.map(volume => [volume.id, volume]));
  const now = clock.now();
  return {
    recommendations: recommend(readVolumeStates(cache, tenant), readTenantState({ cache, policy }, tenant, now)),
    volumes: volumes.map(volume => toKnownVolume(cache, volume)),
    enrolled: listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).length,
    findRoom: id => (byId.has(id) ? findVolumeRoom(cache, byId.get(id)!) : undefined),
  };
}

function toKnownVolume(cache: Cache, stored: StoredVolume): KnownVolume {
  const status = readValue<VolumeStatus>(cache, keys.volumeStatus(stored.metadata.tenant, stored.id));
  const phase = getVolumePhase(stored, status);
  return { ...stored, phase, copies: status?.copies ?? [], consumers: [], ...pickMeasured(status) };
}

function toSpecChange(change: VolumeChange) {
  return change.action === 'resize' ? { sizeBytes: change.sizeBytes } : { replicas: change.replicas };
}

function answer(env: AdmissionEnv, entry: Entry, recommendation: Recommendation, change: VolumeChange): RouteResult {
  const { volumeId: _, ...applied } = change;
  const shown = { ...recommendation, applied, volume: toVolumeResponse(env, entry), alterations: [], warnings: [] };
  return replyJson(200, shown, buildEtagHeader(entry.revision));
}

function draftEvent(
  { tenant, caller }: ApiCall,
  { id, name, sizeBytes, replicas = 0 }: StoredVolume,
  recommendation: Recommendation,
  change: VolumeChange,
): EventDraft {
  const [from, to] =
    change.action === 'resize'
      ? [formatBytes(sizeBytes), formatBytes(change.sizeBytes)]
      : [String(replicas), formatCount(change.replicas, 'replica')];
  return {
    type: 'recommendation.applied',
    tenant,
    subject: { kind: 'Volume', name, id },
    reason: 'recommendation_applied',
    message: `volume ${name} goes from ${from} to ${to}, as ${describeCaller(caller)} applied ${recommendation.id}: ${recommendation.message}`,
    data: { recommendation: recommendation.id, ...change, measurement: recommendation.measurement, by: caller.id },
  };
}
