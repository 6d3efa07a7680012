import { formatBytes } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import {
  checkVolumeResize,
  getVolumePhase,
  type ResizeFacts,
  type StoredVolume,
  toVolumeSubject,
  type VolumeStatus,
} from '../../../crds/volume/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { findVolumeRoom } from '../../../pkg/fleet/index.js';
import { readValue, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv, QuotaEnv } from '../../admission/env.js';
import { findBytesReached, guardQuotas, listCountConflictKeys } from '../../admission/quota.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, describeCaller } from '../../http/route.js';
import type { CachedEnv, Writing } from '../../write/write.js';
import { type DocumentChange, planChange, type VolumeDocument } from './change.js';
import { findVolume, rejectUnmanaged, rejectUnusable, toVolumeResponse } from './view.js';

/** Asks for another size. The agent of the node changes it while the volume is in use, and its phase shows the progress. */
export const resizing: Writing<AdmissionEnv, undefined, DocumentChange> = {
  name: 'volume',
  find: ({ cache }, { tenant, params }) => findVolume(cache, tenant, params['id']!),
  conflictKeys: (env, { tenant }, stored) => listSizeConflictKeys(env, tenant, value<StoredVolume>(stored!).id),
  judge: ({ call, stored: entry }, env) => {
    const unusable = rejectUnusable(entry!, call);
    if (unusable) return unusable;
    const stored = value<StoredVolume>(entry!);
    const checked = checkVolumeResize(call.document, readResizeFacts(env, stored));
    if (!checked.ok) return new RequestRejection(checked.rejections);
    const { sizeBytes } = checked.value;
    const refused = rejectUnmanaged(env.staticFacts, stored) ?? rejectAboveQuota(env, stored, sizeBytes, 'sizeBytes');
    if (refused) return refused;
    return {
      after: { ...toVolumeSpec(stored), sizeBytes },
      isSame: sizeBytes === stored.sizeBytes,
      warnings: warnResize(stored),
      guards: [guardQuotas(env.cache, call.tenant)],
      describe: () => draftEvent(call, stored, sizeBytes),
    };
  },
  plan: (given, change) => planChange(given, given.stored!, change),
  show: (env, volume) => toVolumeResponse(env, volume),
};

/** The keys that serialise what is judged by the size of a volume, its consumers and the quota. */
export function listSizeConflictKeys(env: QuotaEnv, tenant: string, id: string): readonly string[] {
  return [...listCountConflictKeys(env, tenant, 'volumes'), keys.conflict(tenant, toVolumeSubject(id))];
}

/** What a size is judged by. */
function readResizeFacts({ cache }: Pick<AdmissionEnv, 'cache'>, stored: StoredVolume): ResizeFacts {
  const status = readValue<VolumeStatus>(cache, keys.volumeStatus(stored.metadata.tenant, stored.id));
  const phase = getVolumePhase(stored, status);
  const volume = { ...toVolumeSpec(stored), id: stored.id, phase, ...pickMeasured(status) };
  return { volume, roomBytes: findVolumeRoom(cache, stored) };
}

/** What the agent of its node says that a size is judged by. */
export function pickMeasured({ usedBytes, driver, capacityBytes }: Partial<VolumeStatus> = {}) {
  return {
    ...(usedBytes !== undefined && { usedBytes }),
    ...(driver !== undefined && { driver }),
    ...(capacityBytes !== undefined && { capacityBytes }),
  };
}

/** The record of a volume without what every write of it sets. */
export function toVolumeSpec(stored: StoredVolume): VolumeDocument {
  const { metadata: _, id: __, ...spec } = stored;
  return spec;
}

/** The refusal of a size that the tenant may not have. */
export function rejectAboveQuota(
  env: CachedEnv<QuotaEnv>,
  { metadata: { tenant }, sizeBytes: before }: StoredVolume,
  sizeBytes: number,
  field: string,
): RequestRejection | undefined {
  if (sizeBytes <= before) return undefined;
  const limit = findBytesReached(env, tenant, 'volumeBytes', sizeBytes - before);
  return limit === undefined
    ? undefined
    : rejectRequest('quota_reached', field, tenant, { kind: 'volumeBytes', limit });
}

/** A volume in memory is as large as its container was started with. */
function warnResize({ type }: StoredVolume): readonly Warning[] {
  if (type !== 'tmpfs') return [];
  const message = 'containers that run keep the memory that they have; those that start from now on get the new size';
  return [{ code: 'volume_resize_at_start', field: 'sizeBytes', message }];
}

function draftEvent({ tenant, caller }: ApiCall, { id, name, sizeBytes }: StoredVolume, to: number): EventDraft {
  const change = `from ${formatBytes(sizeBytes)} to ${formatBytes(to)}`;
  return {
    type: 'volume.phase_changed',
    tenant,
    subject: { kind: 'Volume', name, id },
    reason: 'volume_resize_requested',
    message: `volume ${name} is to be resized ${change}, as ${describeCaller(caller)} asked`,
    data: { to: 'Resizing', fromBytes: sizeBytes, toBytes: to, by: caller.id },
  };
}
