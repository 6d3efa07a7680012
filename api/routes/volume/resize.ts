import { formatBytes } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import {
  checkVolumeResize,
  getVolumePhase,
  type ResizeFacts,
  type StoredVolume,
  toVolumeSubject,
  type VolumeSpec,
  type VolumeStatus,
} from '../../../crds/volume/index.js';
import type { EventDraft } from '../../../pkg/events/index.js';
import { findVolumeRoom } from '../../../pkg/fleet/index.js';
import { encode, type Entry, type Guard, readValue, value } from '../../../pkg/store/index.js';
import { guardConflictKeys, putConflictKeys } from '../../admission/conflict-keys.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { withNotes } from '../../write/metadata.js';
import { checkCountQuota, findBytesReached, listCountConflictKeys } from '../../admission/quota.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, describeCaller, type RouteResult } from '../../http/route.js';
import { findVolume, rejectChange, toVolumeResponse } from './view.js';

/** Asks for another size. The agent of the node changes it while the volume is in use, and its phase tells how far that is. */
export async function resizeVolume(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { tenant } = call;
  const named = call.params['id']!;
  return env.mutex.run(listCountConflictKeys(env, tenant, 'volumes'), () =>
    retryOnConflict(named, async () => {
      await env.cache.barrier();
      const entry = findVolume(env.cache, tenant, named);
      if (entry instanceof RequestRejection) return entry;
      const refused = rejectChange(entry, call);
      if (refused) return refused;
      const stored = value<StoredVolume>(entry);
      const checked = checkVolumeResize(call.document, readResizeFacts(env, stored));
      if (!checked.ok) return new RequestRejection(checked.rejections);
      const unmanaged = rejectUnmanaged(env, stored);
      if (unmanaged) return unmanaged;
      const { sizeBytes } = checked.value;
      const full = rejectAboveQuota(env, stored, sizeBytes, 'sizeBytes');
      if (full) return full;
      const warnings = warnResize(stored);
      if (call.isDryRun) {
        return replyDryRun({ before: toVolumeSpec(stored), after: { ...toVolumeSpec(stored), sizeBytes }, warnings });
      }
      if (sizeBytes === stored.sizeBytes) return answer(env, entry, warnings);
      const next = await storeVolumeChange(
        env,
        call,
        entry,
        { sizeBytes },
        { event: draftEvent(call, stored, sizeBytes) },
      );
      return next && answer(env, next, warnings);
    }),
  );
}

function answer(env: AdmissionEnv, entry: Entry, warnings: readonly Warning[]): RouteResult {
  const shown = { ...toVolumeResponse(env, entry), alterations: [], warnings };
  return replyJson(200, shown, buildEtagHeader(entry.revision));
}

/** What a size is judged by. */
function readResizeFacts({ cache }: AdmissionEnv, stored: StoredVolume): ResizeFacts {
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

/** The refusal of any change while the operator has switched off that volumes are managed. */
export function rejectUnmanaged(
  { staticFacts }: AdmissionEnv,
  { name }: Pick<StoredVolume, 'name'>,
): RequestRejection | undefined {
  return staticFacts.volumeManagement === 'off'
    ? rejectRequest('volume_binding_unavailable', 'volumes', name)
    : undefined;
}

export function toVolumeSpec(stored: StoredVolume): VolumeSpec {
  const { metadata: _, id: __, ...spec } = stored;
  return spec;
}

/** The refusal of a size that the tenant may not have. */
export function rejectAboveQuota(
  env: AdmissionEnv,
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

/** A volume in memory is as large as its container was told when it started. */
function warnResize({ type }: StoredVolume): readonly Warning[] {
  if (type !== 'tmpfs') return [];
  const message = 'containers that run keep the memory that they have; those that start from now on get the new size';
  return [{ code: 'volume_resize_at_start', field: 'sizeBytes', message }];
}

/**
 * Stores a volume with a part of its spec changed, in turn with what else is judged by its size, its consumers and the quota.
 * Undefined when a concurrent write was stored first.
 */
export async function storeVolumeChange(
  env: AdmissionEnv,
  { tenant, requestId, toNotes }: ApiCall,
  entry: Entry,
  change: Partial<Pick<VolumeSpec, 'sizeBytes' | 'replicas'>>,
  { event, guards = [] }: { readonly event: EventDraft; readonly guards?: readonly Guard[] },
): Promise<Entry | undefined> {
  const stored = value<StoredVolume>(entry);
  const { metadata } = stored;
  const spec = { ...toVolumeSpec(stored), ...change };
  const updatedAt = new Date(env.clock.now()).toISOString();
  const generation = metadata.generation + 1;
  const next: StoredVolume = {
    ...stored,
    ...change,
    metadata: withNotes({ ...metadata, generation, updatedAt, specHash: hashSpec(spec) }, toNotes?.(spec)),
  };
  const quota = checkCountQuota(env, tenant, 'volumes');
  const own = [keys.conflict(tenant, toVolumeSubject(stored.id))];
  const write = env.store.commit({
    guards: [{ key: entry.key, at: entry.revision }, ...quota.guards, ...guardConflictKeys(env.cache, own), ...guards],
    puts: [
      { key: entry.key, bytes: encode(next) },
      await env.events.put(event),
      ...(await putConflictKeys(env.conflictLeases, [...quota.conflictKeys, ...own], requestId)),
    ],
    deletes: [],
  });
  return (await waitUntilStored(env.cache, write)) ? (env.cache.get(entry.key) ?? entry) : undefined;
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
