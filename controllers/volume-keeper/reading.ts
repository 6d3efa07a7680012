import { keys, ranges } from '../../crds/keys/index.js';
import { type NodeStatus, type StoredNode, toNodeStatus } from '../../crds/node/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import type { StoredVolume, VolumeReport } from '../../crds/volume/index.js';
import {
  explainBound,
  explainNoCopies,
  findNode,
  findVolumeDriver,
  listMountedWith,
  listRunningJobs,
  type PlacementPolicy,
  sumVolumesByNode,
  toCandidate,
} from '../../pkg/fleet/index.js';
import { toResidencyRule } from '../../pkg/placement/index.js';
import { type Cache, type Entry, findRecordFault, listValues, readValue, value } from '../../pkg/store/index.js';
import { chooseNode, chooseReplicaNodes, isInside, type VolumeCandidate, type VolumeDemand } from './choose-node.js';
import type { HostLoss, VolumeHost, VolumeInput } from './input.js';

/** What is decided from, beside the record of the volume and its status. */
export function readInput(
  volume: StoredVolume,
  cache: Cache,
  policy: PlacementPolicy,
): Omit<VolumeInput, 'volume' | 'status' | 'now'> {
  const { tenant } = volume.metadata;
  const demand = readDemand(volume, cache, policy);
  return {
    reports: listValues<VolumeReport>(cache, ranges.volumeReportsOf(tenant, volume.id)),
    findHost: nodeId => {
      const node = findNode(nodeId, tenant, cache);
      if (!node) return findUnreadable(nodeId, tenant, cache);
      // Where residency is not enforced, no copy that has a place loses it.
      const isOutside = demand.residency?.regions.enforced === true && !isInside(node, demand);
      return { ...toCandidate(node, cache), isOutside, lost: findLoss(node, cache) };
    },
    chooseNode: refusedBy => chooseNode(listCandidates(volume, cache), demand, refusedBy),
    chooseReplicas: wanted =>
      wanted.count > 0 ? chooseReplicaNodes(listCandidates(volume, cache), demand, wanted) : { nodes: [] },
    explainBound: nodeId => explainBound(cache, volume, nodeId),
    listMountedWith: () => listMountedWith(cache, volume),
    listJobs: () => listRunningJobs(cache, volume),
  };
}

/** While the id of some node of the tenant cannot be read, a node that is not found may be that one: nothing replaces it. */
function findUnreadable(id: string, tenant: string, cache: Cache): VolumeHost | undefined {
  const nodes = cache.list(ranges.of(ranges.nodes, tenant));
  const isUnsure = nodes.some(entry => findRecordFault(entry) !== undefined);
  return isUnsure ? { id, name: id, status: 'unusable' } : undefined;
}

function findLoss({ id, name, metadata }: StoredNode, cache: Cache): HostLoss | undefined {
  const entry = cache.get(keys.nodeStatus(metadata.tenant, name));
  const status = entry && toNodeStatus(value<NodeStatus>(entry));
  const alive = keys.alive(metadata.tenant, name);
  // One that has just sent a heartbeat again is not lost, whatever its status still says.
  if (status?.id !== id || !status.lost || cache.get(alive)) return undefined;
  const still = [
    { key: entry!.key, at: entry!.revision },
    { key: alive, at: 0 },
  ];
  return { by: status.lost, since: status.since, still };
}

/** What stands beside a volume. */
export function listRest(tenant: string, id: string, cache: Cache): readonly Entry[] {
  const status = cache.get(keys.volumeStatus(tenant, id));
  return [...(status ? [status] : []), ...cache.list(ranges.volumeReportsOf(tenant, id))];
}

function readDemand(volume: StoredVolume, cache: Cache, { regions }: PlacementPolicy): VolumeDemand {
  const { tenant } = volume.metadata;
  const residency = toResidencyRule(volume.residency, regions);
  return {
    volume,
    ...(residency && { residency }),
    platform: readValue<StoredTenant>(cache, keys.tenant(tenant))?.platform ?? false,
  };
}

function listCandidates(volume: StoredVolume, cache: Cache): readonly VolumeCandidate[] {
  const { tenant } = volume.metadata;
  const driver = findVolumeDriver(cache, volume);
  const promised = sumVolumesByNode(cache, tenant);
  return listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).map(node => ({
    ...toCandidate(node, cache),
    disk: node.capacity.disk,
    promised: promised.get(node.id) ?? 0,
    noCopies: explainNoCopies(node, driver),
  }));
}
