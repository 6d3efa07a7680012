/**
 * The volume recommender: announces when something that would make a volume safer or cheaper appears, and when it vanishes. For a tenant that
 * has switched it on, it also grows volumes as is recommended.
 *
 * What is recommended is computed by `pkg/recommend`, here and in the API alike; only what was announced is stored.
 *
 * @module
 */
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { AdviceRecord, Recommendation } from '../../crds/recommendation/index.js';
import { listVolumeNodes, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import { readTenantState, readVolumeState } from '../../pkg/recommend/index.js';
import { again, done, type Loop, type LoopEnv, type ReconcileResult, type Wake } from '../../pkg/reconcile/index.js';
import { encode, findRecordFault, type Put, value } from '../../pkg/store/index.js';
import { deriveQueueKey, parseQueueKey, readChange, wakeItself } from '../reading/index.js';
import { applyGrowth } from './auto-apply.js';
import { decideAdvice } from './decide.js';

/** While volumes are not managed, none is grown by itself. */
export function createVolumeRecommender(policy: PlacementPolicy = defaultPolicy, isManaged = true): Loop {
  return {
    name: 'volume-recommender',
    wakes: [
      wakeItself(ranges.volumes),
      wakeItself(ranges.volumeStatuses),
      wakeItself(ranges.advices),
      // What one volume gives back of the quota, or of the disk of a node, another may have waited for.
      wakeTenant(ranges.volumes, change => {
        const { after, before } = readChange<StoredVolume>(change);
        return before !== undefined && (after?.sizeBytes ?? 0) < before.sizeBytes;
      }),
      wakeTenant(ranges.volumeStatuses, change => {
        const { after, before } = readChange<VolumeStatus>(change);
        const list = (status: VolumeStatus | undefined) => (status ? listVolumeNodes(status) : []);
        const left = list(before).some(id => !list(after).includes(id));
        return left || (after?.capacityBytes ?? 0) < (before?.capacityBytes ?? 0);
      }),
      wakeTenant(ranges.nodes),
      wakeTenant(ranges.nodeStatuses, change => {
        const { after, before } = readChange<{ readonly status: string }>(change);
        return after?.status !== before?.status;
      }),
      wakeTenant(ranges.tenants),
    ],
    reconcile: (key, env) => advise(key, env, policy, isManaged),
    concurrency: 1, // of two volumes that are grown at once, the second must see what the first takes of the quota
  };
}

/** Wakes all volumes of the tenant that a key names first. */
function wakeTenant(prefix: string, matters: (change: Parameters<Wake['keys']>[0]) => boolean = () => true): Wake {
  return {
    prefix,
    keys: (change, cache) => {
      const [tenant = ''] = splitKey(change.key);
      if (!matters(change)) return [];
      return cache.list(ranges.of(ranges.volumes, tenant)).map(({ key }) => deriveQueueKey(key));
    },
  };
}

async function advise(
  queueKey: string,
  env: LoopEnv,
  policy: PlacementPolicy,
  isManaged: boolean,
): Promise<ReconcileResult> {
  const { tenant, name: id } = parseQueueKey(queueKey);
  const { cache, clock } = env;
  const volumeKey = keys.volume(tenant, id);
  const key = keys.advice(tenant, id);
  const [entry, stored] = [cache.get(volumeKey), cache.get(key)];
  if (entry && findRecordFault(entry) !== undefined) return done; // what cannot be read is left alone
  const before = stored && findRecordFault(stored) === undefined ? value<AdviceRecord>(stored) : undefined;
  const volume = entry && value<StoredVolume>(entry);
  const state = volume && readVolumeState(cache, volume);
  const decision = decideAdvice({
    id,
    state,
    tenant: readTenantState({ cache, policy }, tenant, clock.now()),
    before,
  });
  const { record, againMs } = decision;
  const isStale = record ? record !== before : stored !== undefined;
  if (isStale) {
    const puts = await announce(env, tenant, decision, { id, name: volume?.name ?? before?.volume.name ?? id });
    const guards = [
      { key, at: stored?.revision ?? 0 },
      { key: volumeKey, at: entry?.revision ?? 0 },
    ];
    const change = record ? { puts: [{ key, bytes: encode(record) }, ...puts], deletes: [] } : { puts, deletes: [key] };
    await env.commit({ guards, ...change });
  } else if (entry && state && isManaged && !decision.isHeldBack) {
    await applyGrowth(env, entry, decision.current);
  }
  return againMs === undefined ? done : again(againMs, 'what holds of it depends on the time too');
}

/** The events of what has appeared, changed and vanished. */
async function announce(
  { events }: LoopEnv,
  tenant: string,
  { appeared, changed, vanished }: ReturnType<typeof decideAdvice>,
  { id, name }: AdviceRecord['volume'],
): Promise<readonly Put[]> {
  const about = { tenant, subject: { kind: 'Volume', name, id } as const };
  const putEvent = (each: Recommendation, reason: 'recommendation_appeared' | 'recommendation_changed') =>
    events.put({
      ...about,
      type: 'recommendation.appeared',
      ...(each.priority === 'critical' && { severity: 'warning' as const }),
      reason,
      message: `${each.priority}: ${each.message}`,
      data: { recommendation: each.id, type: each.type, priority: each.priority, ...each.parameters },
    });
  const puts: Put[] = [];
  for (const each of appeared) puts.push(await putEvent(each, 'recommendation_appeared'));
  for (const each of changed) puts.push(await putEvent(each, 'recommendation_changed'));
  for (const each of vanished) {
    const put = await events.put({
      ...about,
      type: 'recommendation.vanished',
      reason: 'recommendation_vanished',
      message: `recommendation ${each.id} about volume ${name} does not hold any more`,
      data: { recommendation: each.id, type: each.type, priority: each.priority },
    });
    puts.push(put);
  }
  return puts;
}
