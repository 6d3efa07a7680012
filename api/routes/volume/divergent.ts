import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import {
  type DiscardedBytes,
  getVolumePhase,
  isDiscardFinished,
  type StoredVolume,
  type VolumeReport,
  type VolumeStatus,
} from '../../../crds/volume/index.js';
import { findNode } from '../../../pkg/fleet/index.js';
import { type Cache, encode, type Entry, readValue, value } from '../../../pkg/store/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { retryOnConflict, waitUntilStored } from '../../http/concurrency.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { findNamedVolume, isDiscarded, rejectChange, toVolumeResponse } from './view.js';

const DIVERGENT = '/api/v1/tenants/{tenant}/volumes/{id}/divergent/{node_id}/{name}';

/** What former primaries have set aside. That it is to go is stored; the agent of its node removes it, and says that it is gone. */
export function createDivergentRoutes(env: AdmissionEnv): readonly Route[] {
  return [defineRoute('deployer', 'DELETE', DIVERGENT, call => discard(env, call), { tenant: 'chosen' })];
}

function discard(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { cache } = env;
  const named = call.params['id']!;
  return retryOnConflict(named, async () => {
    const entry = await findNamedVolume(cache, call);
    if (entry instanceof RequestRejection) return entry;
    const refused = rejectChange(entry, call);
    if (refused) return refused;
    const stored = value<StoredVolume>(entry);
    const { metadata, id, ...before } = stored;
    const statusKey = keys.volumeStatus(metadata.tenant, id);
    const status = readValue<VolumeStatus>(cache, statusKey);
    const phase = getVolumePhase(stored, status);
    // Until it serves, what was set aside may be all that is left.
    if (phase !== 'Ready' && phase !== 'Resizing') return rejectRequest('volume_not_ready', 'id', named, { phase });
    const found = find(cache, call, metadata.tenant, status);
    if (found instanceof RequestRejection) return found;

    const isOpen = (each: DiscardedBytes) =>
      !isDiscardFinished(each, readValue<VolumeReport>(cache, keys.volumeReport(metadata.tenant, id, each.nodeId)));
    const discarded = [...(before.discarded ?? []).filter(isOpen), found];
    const after = { ...before, discarded };
    if (call.isDryRun) return replyDryRun({ before, after });
    if (isDiscarded(found, before.discarded)) return answer(env, entry, named);
    const updatedAt = new Date(env.clock.now()).toISOString();
    const generation = metadata.generation + 1;
    const next: StoredVolume = {
      metadata: { ...metadata, generation, updatedAt, specHash: hashSpec(after) },
      id,
      ...after,
    };
    const write = env.store.commit({
      guards: [
        { key: entry.key, at: entry.revision },
        { key: statusKey, at: cache.get(statusKey)?.revision ?? 0 },
      ],
      puts: [{ key: entry.key, bytes: encode(next) }, await env.events.put(draftEvent(cache, call, next, found))],
      deletes: [],
    });
    if (!(await waitUntilStored(cache, write))) return undefined;
    return answer(env, cache.get(entry.key), named);
  });
}

/** What the path names, as its node has told of it. */
function find(
  cache: Cache,
  { params }: ApiCall,
  tenant: string,
  status: VolumeStatus | undefined,
): DiscardedBytes | RequestRejection {
  const { node_id: node = '', name = '' } = params;
  const own = (status?.divergent ?? []).filter(
    ({ nodeId }) => nodeId === node || findNode(nodeId, tenant, cache)?.name === node,
  );
  if (own.length === 0) return rejectRequest('resource_not_found', 'node_id', node);
  const found = own.find(each => each.name === name);
  if (!found) return rejectRequest('resource_not_found', 'name', name);
  return { nodeId: found.nodeId, name, at: found.at };
}

function answer(env: AdmissionEnv, entry: Entry | undefined, named: string): RouteResult {
  // Between the write and the answer the volume may have been deleted.
  if (!entry) return rejectRequest('volume_not_found', 'id', named, { in: 'path' });
  const body = { ...toVolumeResponse(env, entry), alterations: [], warnings: [] };
  return replyJson(200, body, buildEtagHeader(entry.revision));
}

function draftEvent(
  cache: Cache,
  { caller }: ApiCall,
  { id, name, metadata: { tenant } }: StoredVolume,
  { nodeId, name: kept, at }: DiscardedBytes,
) {
  const node = findNode(nodeId, tenant, cache)?.name ?? nodeId;
  return {
    type: 'volume.replicas_changed',
    tenant,
    subject: { kind: 'Volume', name, id },
    reason: 'volume_divergent_discarded',
    message: `${kept}, which was set aside of volume ${name} on ${node}, is to be removed, as ${describeCaller(caller)} asked`,
    data: { nodeId, name: kept, at, by: caller.id },
  } as const;
}
