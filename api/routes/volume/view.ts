import type { DeploymentFacts } from '../../../crds/deployment/index.js';
import { isDnsLabel, isTypedId } from '../../../crds/grammar/index.js';
import { keys, ranges, toStatusKey } from '../../../crds/keys/index.js';
import {
  countLagSeconds,
  type DiscardedBytes,
  getVolumePhase,
  type StoredVolume,
  volumeKind,
  type VolumeStatus,
} from '../../../crds/volume/index.js';
import type { Clock } from '../../../pkg/clock/index.js';
import { findNode } from '../../../pkg/fleet/index.js';
import { type Cache, encode, type Entry, findRecordFault, value } from '../../../pkg/store/index.js';
import { listVolumeConsumers } from '../../admission/relations.js';
import { rejectRequest, type RequestRejection } from '../../http/reply.js';
import type { ApiCall } from '../../http/route.js';
import type { ReaderOptions } from '../kind-routes.js';

/** What a volume is shown from. */
export interface VolumeViewEnv {
  readonly cache: Cache;
  readonly clock: Pick<Clock, 'now'>;
}

/** Volumes are found by id or name, and shown flat, with their phase and who mounts them. */
export function createVolumeReader(env: VolumeViewEnv): ReaderOptions {
  const { cache } = env;
  return {
    resource: {
      range: ranges.volumes,
      joined: ranges.volumeStatuses,
      isVolatile: true,
      view: (entry, status) => encode(toVolumeResponse(env, entry, status)),
    },
    find: ({ tenant, params }) => findVolume(cache, tenant, params['id']!),
  };
}

/** The volume of a tenant that a path names by its id or its name. */
export function findVolume(cache: Cache, tenant: string, named: string): Entry | RequestRejection {
  const entry = isTypedId('vol', named)
    ? cache.get(keys.volume(tenant, named))
    : isDnsLabel(named) && findByName(cache, tenant, named);
  return entry || rejectRequest('volume_not_found', 'id', named, { in: 'path' });
}

const UUID = /^[0-9a-f-]{36}$/;

/** Refuses to change a volume whose record is damaged. */
export function rejectUnusable(entry: Entry, { params }: ApiCall): RequestRejection | undefined {
  const fault = findRecordFault(entry);
  return fault === undefined ? undefined : rejectRequest('volume_record_unusable', 'id', params['id']!, { fault });
}

/** The refusal of any change while the operator has switched off that volumes are managed. */
export function rejectUnmanaged(
  { volumeManagement }: Pick<DeploymentFacts, 'volumeManagement'>,
  { name }: Pick<StoredVolume, 'name'>,
): RequestRejection | undefined {
  return volumeManagement === 'off' ? rejectRequest('volume_binding_unavailable', 'volumes', name) : undefined;
}

/** The volume that a path names below a tenant that the caller may see. */
export function findNamedVolume(cache: Cache, { caller, params, tenant }: ApiCall): Entry | RequestRejection {
  const asked = params['tenant']!.toLowerCase();
  const named = asked === 'self' ? tenant : asked;
  const isVisible = caller.kind === 'admin' ? tenant === '' || tenant === named : tenant === named;
  const id = params['id']!;
  return isVisible && UUID.test(named)
    ? findVolume(cache, named, id)
    : rejectRequest('volume_not_found', 'id', id, { in: 'path' });
}

export function findByName(cache: Cache, tenant: string, name: string): Entry | undefined {
  return cache.list(ranges.of(ranges.volumes, tenant)).find(entry => value<StoredVolume>(entry).name === name);
}

/** Whether the removal of what was set aside was asked for. */
export function isDiscarded(
  { nodeId, name, at }: DiscardedBytes,
  discarded: readonly DiscardedBytes[] | undefined = [],
): boolean {
  return discarded.some(each => each.nodeId === nodeId && each.name === name && each.at === at);
}

/** A volume as clients see it. */
export function toVolumeResponse(
  { cache, clock }: VolumeViewEnv,
  entry: Entry,
  statusEntry = cache.get(toStatusKey(volumeKind, entry.key)),
) {
  const volume = value<StoredVolume>(entry);
  const { metadata, id, primaryNode: asked, replicas: wantedReplicas = 0, ...stored } = volume;
  const { replicaNodes: _named, excludedNodes: _excluded, abandonedNodes: _abandoned, move: _order, ...rest } = stored;
  const { discarded, ...spec } = rest;
  const status = statusEntry && value<VolumeStatus>(statusEntry);
  const primaryNode = status?.primaryNode ?? asked ?? null;
  const { tenant } = metadata;
  const findName = (nodeId: string | null) =>
    nodeId === null ? null : (findNode(nodeId, tenant, cache)?.name ?? null);
  return {
    metadata: { revision: String(entry.revision), ...metadata },
    id,
    ...spec,
    phase: getVolumePhase(volume, status),
    ...describeState(entry, status),
    primaryNode,
    primaryNodeName: findName(primaryNode),
    epoch: status?.epoch ?? null,
    wantedReplicas,
    replicas: (status?.copies ?? []).map(copy => {
      const lagSeconds = countLagSeconds(copy, clock.now(), status);
      return { ...copy, ...(lagSeconds !== undefined && { lagSeconds }), nodeName: findName(copy.nodeId) };
    }),
    divergent: (status?.divergent ?? []).map(each => ({
      ...each,
      nodeName: findName(each.nodeId),
      isDiscarded: isDiscarded(each, discarded),
    })),
    move: status?.move ? { ...status.move, toName: findName(status.move.to ?? null) } : null,
    lastMove: status?.lastMove ?? null,
    failover: status?.failover ?? null,
    driver: status?.driver ?? null,
    limits: status?.limits ?? null,
    usedBytes: status?.usedBytes ?? null,
    measuredAt: status?.measuredAt ?? null,
    capacityBytes: status?.capacityBytes ?? null,
    targetBytes: status?.targetBytes ?? null,
    since: status?.since ?? null,
    consumers: listVolumeConsumers(cache, tenant, id),
  };
}

function describeState(entry: Entry, status: VolumeStatus | undefined): Pick<VolumeStatus, 'reason' | 'message'> {
  const fault = findRecordFault(entry);
  if (fault !== undefined) {
    const message = `what is stored of it cannot be worked with (${fault}): its bytes are left as they are; restore the record from a backup of etcd`;
    return { reason: 'record_unusable', message };
  }
  if (status) return { reason: status.reason, message: status.message };
  return { reason: 'volume_created', message: 'no node is chosen yet' };
}
