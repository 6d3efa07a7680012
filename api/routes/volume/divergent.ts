import { keys } from '../../../crds/keys/index.js';
import {
  type DiscardedBytes,
  getVolumePhase,
  isDiscardFinished,
  type StoredVolume,
  type VolumeReport,
  type VolumeStatus,
} from '../../../crds/volume/index.js';
import { findNode } from '../../../pkg/fleet/index.js';
import { type Cache, readValue } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route } from '../../http/route.js';
import { write } from '../../write/write.js';
import { defineVolumeChange } from './change.js';
import { isDiscarded } from './view.js';

const DIVERGENT = '/api/v1/tenants/{tenant}/volumes/{id}/divergent/{node_id}/{name}';

/** What former primaries have set aside. That it is to go is stored; the agent of its node removes it, and says that it is gone. */
export function createDivergentRoutes(env: AdmissionEnv): readonly Route[] {
  return [defineRoute('deployer', 'DELETE', DIVERGENT, call => write(env, call, discard), { tenant: 'chosen' })];
}

const discard = defineVolumeChange((stored, call, { cache }) => {
  const { metadata, id, ...before } = stored;
  const { tenant } = metadata;
  const status = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, id));
  const phase = getVolumePhase(stored, status);
  // Until it serves, what was set aside may be all that is left.
  const isServed = phase === 'Ready' || phase === 'Resizing';
  if (!isServed) return rejectRequest('volume_not_ready', 'id', call.params['id']!, { phase });
  const found = find(cache, call, tenant, status);
  if (found instanceof RequestRejection) return found;
  const isOpen = (each: DiscardedBytes) =>
    !isDiscardFinished(each, readValue<VolumeReport>(cache, keys.volumeReport(tenant, id, each.nodeId)));
  const isSame = isDiscarded(found, before.discarded);
  return {
    after: isSame ? before : { ...before, discarded: [...(before.discarded ?? []).filter(isOpen), found] },
    isSame,
    describe: next => draftEvent(cache, call, next, found),
  };
});

/** What the path names, as last reported by its node. */
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
