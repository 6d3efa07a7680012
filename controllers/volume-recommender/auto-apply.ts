import { formatBytes } from '../../crds/grammar/index.js';
import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { Recommendation } from '../../crds/recommendation/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { type StoredVolume, toVolumeSubject } from '../../crds/volume/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { encode, type Entry, value } from '../../pkg/store/index.js';

/** Conflict keys outlive every request that was judged at the same time. */
const CONFLICT_KEYS_SECONDS = 3_600;

/**
 * Grows a volume as is recommended, where its tenant has switched that on. Only what can be applied is: within the quota, with room on the
 * node, and not while its size is being changed. What it was decided by is guarded, the measurement and the switch included.
 */
export async function applyGrowth(
  { cache, clock, commit, events, lease, log }: LoopEnv,
  entry: Entry,
  current: readonly Recommendation[],
): Promise<void> {
  const stored = value<StoredVolume>(entry);
  const { metadata, id, name } = stored;
  const { tenant } = metadata;
  const tenantEntry = cache.get(keys.tenant(tenant));
  if (!tenantEntry || value<StoredTenant>(tenantEntry).autoGrow !== true) return;
  const growth = current.find(
    ({ applicable, parameters: { action, target_size_bytes: target = 0 } }) =>
      applicable && action === 'resize' && target > stored.sizeBytes,
  );
  if (!growth) return;

  const sizeBytes = growth.parameters.target_size_bytes!;
  const { metadata: _, id: __, ...spec } = stored;
  const updatedAt = new Date(clock.now()).toISOString();
  const specHash = hashSpec({ ...spec, sizeBytes });
  const next: StoredVolume = {
    ...stored,
    sizeBytes,
    metadata: { ...metadata, generation: metadata.generation + 1, updatedAt, specHash },
  };
  const conflictKeys = [keys.conflict(tenant, 'volumes'), keys.conflict(tenant, toVolumeSubject(id))];
  const guards = [entry.key, keys.volumeStatus(tenant, id), tenantEntry.key, ...conflictKeys].map(key => ({
    key,
    at: cache.get(key)?.revision ?? 0,
  }));
  const leaseId = await lease(CONFLICT_KEYS_SECONDS);
  const event = await events.put({
    type: 'recommendation.applied',
    tenant,
    subject: { kind: 'Volume', name, id },
    reason: 'recommendation_auto_applied',
    message: `volume ${name} goes from ${formatBytes(stored.sizeBytes)} to ${formatBytes(sizeBytes)} by itself: ${growth.message}`,
    data: { recommendation: growth.id, ...growth.parameters, measurement: growth.measurement, automatic: true },
  });
  const turns = conflictKeys.map(key => ({ key, bytes: encode({ by: 'volume-recommender' }), lease: leaseId }));
  await commit({ guards, puts: [{ key: entry.key, bytes: encode(next) }, event, ...turns], deletes: [] });
  log.info('volume grown as recommended', { tenant, volume: id, because: growth.id });
}
