import { keys, ranges } from '../../crds/keys/index.js';
import { type NodeStatus, type StoredNode } from '../../crds/node/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { listVolumeNodes, type StoredVolume, type VolumeReport, type VolumeStatus } from '../../crds/volume/index.js';
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
import { isSetBack, readRestoreEpoch } from '../../pkg/link/index.js';
import { toResidencyRule } from '../../pkg/placement/index.js';
import type { Ages } from '../../pkg/reconcile/index.js';
import { type Cache, type Entry, findRecordFault, listValues, readValue, value } from '../../pkg/store/index.js';
import { chooseNode, chooseReplicaNodes, isInside, type VolumeCandidate, type VolumeDemand } from './choose-node.js';
import type { HostLoss, VolumeHost, VolumeInput, VolumeWait } from './input.js';

/** What is waited on, each with what distinguishes it from an earlier one: times of records are only a part of that. */
export function readMarks(
  volume: StoredVolume,
  status: VolumeStatus | undefined,
  cache: Cache,
): Readonly<Record<VolumeWait, string | undefined>> {
  const { tenant } = volume.metadata;
  const { phase, epoch, since, move, lastMove } = status ?? {};
  const silent = (status ? listVolumeNodes(status) : []).flatMap(id => {
    const node = findNode(id, tenant, cache);
    const found = node && findSilence(node, cache);
    return found ? [[`silent ${id}`, found.status.since] as const] : [];
  });
  const reports = listValues<VolumeReport>(cache, ranges.volumeReportsOf(tenant, volume.id));
  const failed = reports.flatMap(({ nodeId, state, at }) => (state === 'failed' ? [[`failed ${nodeId}`, at]] : []));
  const stuck = (status?.copies ?? []).map(({ nodeId, failingSince }) => [`stuck ${nodeId}`, failingSince] as const);
  return {
    ...Object.fromEntries([...silent, ...failed, ...stuck]),
    phase: status && `${phase} ${epoch} ${since}`,
    asked: volume.move && String(volume.move.generation),
    moving: move && `${move.generation} ${move.to} ${move.since}`,
    stopped: move?.stoppedAt && `${move.epoch} ${move.stoppedAt}`,
    aborted: lastMove?.isAborted ? `${lastMove.epoch} ${lastMove.at}` : undefined,
  };
}

/** What is decided from, beside the record of the volume and its status. */
export function readInput(
  volume: StoredVolume,
  cache: Cache,
  policy: PlacementPolicy,
  ages: Ages<VolumeWait>,
): Omit<VolumeInput, 'volume' | 'status' | 'now' | 'drawGenerationId'> {
  const { tenant } = volume.metadata;
  const demand = readDemand(volume, cache, policy);
  return {
    reports: listValues<VolumeReport>(cache, ranges.volumeReportsOf(tenant, volume.id)),
    findHost: nodeId => {
      const node = findNode(nodeId, tenant, cache);
      if (!node) return findUnreadable(nodeId, tenant, cache);
      // Where residency is not enforced, no copy that has a place loses it.
      const isOutside = demand.residency?.regions.enforced === true && !isInside(node, demand);
      return { ...toCandidate(node, cache), isOutside, lost: findLoss(node, cache, ages[`silent ${nodeId}`]) };
    },
    chooseNode: refusedBy => chooseNode(listCandidates(volume, cache), demand, refusedBy),
    chooseReplicas: wanted =>
      wanted.count > 0 ? chooseReplicaNodes(listCandidates(volume, cache), demand, wanted) : { nodes: [] },
    explainBound: nodeId => explainBound(cache, volume, nodeId),
    listMountedWith: () => listMountedWith(cache, volume),
    listJobs: () => listRunningJobs(cache, volume),
    ages,
    // In seconds: in a history fewer epochs are issued of a volume than it lasts seconds.
    epochFloor: Math.floor((readRestoreEpoch(cache) ?? 0) / 1000),
    isSetBack: isSetBack(cache),
  };
}

/** While the id of some node of the tenant cannot be read, a node that is not found may be that one: nothing replaces it. */
function findUnreadable(id: string, tenant: string, cache: Cache): VolumeHost | undefined {
  const nodes = cache.list(ranges.of(ranges.nodes, tenant));
  const isUnsure = nodes.some(entry => findRecordFault(entry) !== undefined);
  return isUnsure ? { id, name: id, status: 'unusable' } : undefined;
}

function findLoss(node: StoredNode, cache: Cache, silentMs = 0): HostLoss | undefined {
  const { entry, status } = findSilence(node, cache) ?? {};
  if (!entry || !status?.lost) return undefined;
  const still = [
    { key: entry.key, at: entry.revision },
    { key: keys.alive(node.metadata.tenant, node.name), at: 0 },
  ];
  return { by: status.lost, since: status.since, silentMs, still };
}

/** The status of a node that has failed. One that has just sent a heartbeat again has not, whatever its status still says. */
function findSilence({ id, name, metadata }: StoredNode, cache: Cache) {
  const entry = cache.get(keys.nodeStatus(metadata.tenant, name));
  const status = entry && value<NodeStatus>(entry);
  const isSilent = status?.id === id && status.status === 'failed' && !cache.get(keys.alive(metadata.tenant, name));
  return isSilent ? { entry: entry!, status } : undefined;
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
