import { isDeepStrictEqual } from 'node:util';

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
import type { AdmissionEnv } from '../../admission/env.js';
import { guardQuotas } from '../../admission/quota.js';
import { RequestRejection } from '../../http/reply.js';
import { type ApiCall, describeCaller } from '../../http/route.js';
import type { Writing } from '../../write/write.js';
import { planChange } from '../volume/change.js';
import { listSizeConflictKeys, pickMeasured, rejectAboveQuota, toVolumeSpec } from '../volume/resize.js';
import { rejectUnmanaged, toVolumeResponse } from '../volume/view.js';
import { previewChange } from './preview.js';

interface AppliedChange {
  readonly recommendation: Recommendation;
  readonly change: VolumeChange;
  readonly volume: Entry;
}

/** Applies a recommendation that holds now: judged and stored by the same measurement, or judged again. */
export const application: Writing<AdmissionEnv, ApplyFacts, AppliedChange> = {
  name: 'volume',
  // The measurement that it was made by: the status of the volume.
  find: (env, call) => {
    const checked = checkRecommendationApply(call.params['id']!, call.document, readApplyFacts(env, call.tenant));
    if (!checked.ok) return new RequestRejection(checked.rejections);
    return env.cache.get(keys.volumeStatus(call.tenant, checked.value.volumeId));
  },
  conflictKeys: (env, { tenant }, measured) =>
    measured ? listSizeConflictKeys(env, tenant, measured.key.slice(measured.key.lastIndexOf('/') + 1)) : [],
  facts: (env, { tenant }) => readApplyFacts(env, tenant),
  judge: ({ call: { tenant, params, document }, facts }, env) => {
    const id = params['id']!;
    const checked = checkRecommendationApply(id, document, facts);
    if (!checked.ok) return new RequestRejection(checked.rejections);
    const change = checked.value;
    const volume = env.cache.get(keys.volume(tenant, change.volumeId))!;
    const stored = value<StoredVolume>(volume);
    const target = change.action === 'resize' ? change.sizeBytes : 0;
    const refused =
      rejectUnmanaged(env.staticFacts, stored) ?? rejectAboveQuota(env, stored, target, 'parameters.target_size_bytes');
    return refused ?? { recommendation: facts.recommendations.find(each => each.id === id)!, change, volume };
  },
  plan: (given, { recommendation, change, volume }, { cache }) => {
    const stored = value<StoredVolume>(volume);
    const before = toVolumeSpec(stored);
    const after = { ...before, ...toSpecChange(change) };
    return planChange(given, volume, {
      after,
      isSame: isDeepStrictEqual(after, before),
      guards: [guardQuotas(cache, given.call.tenant)],
      describe: () => draftEvent(given.call, stored, recommendation, change),
    });
  },
  show: (env, volume, _given, { recommendation, change }) => {
    const { volumeId: _, ...applied } = change;
    return { ...recommendation, applied, volume: toVolumeResponse(env, volume) };
  },
  preview: (env, _given, { recommendation, change, volume }) => ({
    recommendation,
    preview: previewChange(env, value<StoredVolume>(volume), change),
  }),
};

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
