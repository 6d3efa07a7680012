import { mergeQuotas } from '../../crds/kinds/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { AdviceRecord } from '../../crds/recommendation/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { getVolumePhase, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import {
  findVolumeDriver,
  findVolumeRoom,
  type PlacementSources,
  sumVolumesByNode,
  toCandidate,
} from '../fleet/index.js';
import { type Cache, findRecordFault, listValues, readValue, value } from '../store/index.js';
import type { TenantState, VolumeState } from './recommend.js';

/** What is known of the volumes of a tenant. One whose record cannot be worked with is left out. */
export function readVolumeStates(cache: Cache, tenant: string): readonly VolumeState[] {
  const entries = cache.list(ranges.of(ranges.volumes, tenant)).filter(entry => findRecordFault(entry) === undefined);
  const promised = sumVolumesByNode(cache, tenant);
  return entries.map(entry => readVolumeState(cache, value<StoredVolume>(entry), promised));
}

/** `promised`: what the volumes of the tenant take of each node, where the caller knows it. */
export function readVolumeState(
  cache: Cache,
  volume: StoredVolume,
  promised?: ReadonlyMap<string, number>,
): VolumeState {
  const { tenant } = volume.metadata;
  const entry = cache.get(keys.volumeStatus(tenant, volume.id));
  const status = entry && findRecordFault(entry) === undefined ? value<VolumeStatus>(entry) : undefined;
  return {
    volume,
    phase: getVolumePhase(volume, status),
    isRefused: status?.phase === 'Ready' && status.reason === 'volume_refused',
    primaryNode: status?.primaryNode,
    copies: status?.copies ?? [],
    driver: findVolumeDriver(cache, volume),
    usedBytes: status?.usedBytes,
    measuredAt: status?.measuredAt,
    capacityBytes: status?.capacityBytes,
    roomBytes: findVolumeRoom(cache, volume, promised),
    lowSince: readValue<AdviceRecord>(cache, keys.advice(tenant, volume.id))?.lowSince,
    revision: entry?.revision ?? 0,
  };
}

/** What the volumes of a tenant have in common. */
export function readTenantState({ cache, policy }: PlacementSources, tenant: string, now: number): TenantState {
  const record = readValue<StoredTenant>(cache, keys.tenant(tenant));
  const limit = mergeQuotas(policy.quotas, record?.quotas).volumeBytes;
  const volumes = listValues<StoredVolume>(cache, ranges.of(ranges.volumes, tenant));
  const used = volumes.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const nodes = listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).map(node => {
    const { status } = toCandidate(node, cache);
    // The node of the control plane is not reported as a fault.
    const isImpaired = !node.controlPlane && (status === 'failed' || status === 'unusable');
    const { name, labels, controlPlane, lacks = [], volumeAddress, volumeDriver } = node;
    const isForVolumes = (!controlPlane || record?.platform === true) && !lacks.includes('volumes');
    const takesCopies = isForVolumes && volumeAddress !== undefined;
    return [node.id, { name, isImpaired, labels, takesCopies, volumeDriver }] as const;
  });
  const quotaLeft = limit === undefined ? undefined : limit - used;
  return { nodes: new Map(nodes), regions: policy.regions, quotaLeft, now };
}
