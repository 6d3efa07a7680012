import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import {
  type AssignedVolume,
  believeReport,
  isHeldVolume,
  isMadeVolume,
  listVolumeNodes,
  type SeenVolume,
  type StoredVolume,
  toAssignedVolume,
  type VolumePeer,
  type VolumeStatus,
  type VolumeTerm,
} from '../../crds/volume/index.js';
import { findNode } from '../fleet/index.js';
import { type CacheChange, type Entry, findRecordFault, listValues, readValue, value } from '../store/index.js';
import type { NodeIdentity } from './agent-link.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import { storeObservation } from './store-seen.js';

type VolumesEnv = Pick<DispatcherEnv, 'cache' | 'keyring' | 'failedAfterSeconds' | 'volumeSyncSeconds'>;

const SYNC_SECONDS = 5;

/**
 * The volumes of which a node has, is to have or is to lose bytes. A record that cannot be worked with is not sent: nothing is
 * decided from it.
 */
export function listAssignedVolumes(env: VolumesEnv, node: NodeIdentity): readonly AssignedVolume[] {
  const statuses = env.cache.list(ranges.of(ranges.volumeStatuses, node.tenant));
  return statuses.flatMap(entry => findAssigned(env, node, value<VolumeStatus>(entry)) ?? []);
}

function findAssigned(
  { cache, keyring, failedAfterSeconds, volumeSyncSeconds = SYNC_SECONDS }: VolumesEnv,
  { tenant, id }: NodeIdentity,
  status: VolumeStatus | undefined,
): AssignedVolume | undefined {
  if (!status || !listVolumeNodes(status).includes(id)) return undefined;
  const entry = cache.get(keys.volume(tenant, status.id));
  if (!entry || findRecordFault(entry) !== undefined) return undefined;
  return toAssignedVolume(value<StoredVolume>(entry), status, id, {
    findPeer: nodeId => findPeer(cache, tenant, nodeId),
    intervalSeconds: Math.max(1, volumeSyncSeconds),
    fenceAfterSeconds: failedAfterSeconds,
    proveTerm: term => keyring.digest(toProvenText(tenant, status.id, term)),
  });
}

/** Of no node: one that was enrolled again still has acted in the term. */
function toProvenText(tenant: string, id: string, { epoch, generationId }: VolumeTerm): string {
  return ['mooring-volume-term', tenant, id, String(epoch), generationId].join('\n');
}

function findPeer(cache: DispatcherEnv['cache'], tenant: string, nodeId: string): VolumePeer | undefined {
  const node = findNode(nodeId, tenant, cache);
  if (!node) return undefined;
  const { publicKey, volumeAddress: address } = node;
  return { nodeId, publicKey, ...(address !== undefined && { address }) };
}

/**
 * The nodes whose agents are to hear of a change to a volume, to its status or to a node. A status says much that is not their
 * business: only where bytes are to be, in which term, whether they were made and whether they may be used. Of a node, how the others
 * reach it.
 */
export function listConcerned({ cache }: Pick<DispatcherEnv, 'cache'>, change: CacheChange): readonly string[] {
  const { key, entry, previous } = change;
  const [tenant = '', id = ''] = splitKey(key);
  if (key.startsWith(ranges.nodes)) return entry && previous ? listPartners(cache, tenant, entry, previous) : [];
  const isStatus = key.startsWith(ranges.volumeStatuses);
  const before = isStatus && previous ? value<VolumeStatus>(previous) : undefined;
  const after = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, id));
  if (isStatus && describeAssigned(before) === describeAssigned(after)) return [];
  return [...new Set([before, after].flatMap(status => (status ? listVolumeNodes(status) : [])))];
}

/** The nodes that copy volumes to or from a node, when that is reached elsewhere or has another key from now on. */
function listPartners(cache: DispatcherEnv['cache'], tenant: string, entry: Entry, previous: Entry): readonly string[] {
  const [before, after] = [value<StoredNode>(previous), value<StoredNode>(entry)];
  if (before.publicKey === after.publicKey && before.volumeAddress === after.volumeAddress) return [];
  const statuses = listValues<VolumeStatus>(cache, ranges.of(ranges.volumeStatuses, tenant));
  const shared = statuses.map(listVolumeNodes).filter(nodes => nodes.length > 1 && nodes.includes(after.id));
  return [...new Set(shared.flat())];
}

function describeAssigned(status: VolumeStatus | undefined): string {
  if (!status) return '';
  const { primaryNode, lineage, copies, leaving, finalFor } = status;
  const flags = [isMadeVolume(status), isHeldVolume(status)];
  return JSON.stringify([primaryNode, lineage, copies.map(({ nodeId }) => nodeId), leaving, finalFor, ...flags]);
}

/**
 * Stores what an agent says of volumes that it has, is to have or is to lose bytes of, each guarded by the record of the volume.
 * What it says of any other is passed over, so that an agent cannot find out which volumes exist.
 */
export async function storeVolumeReports(
  env: DispatcherEnv,
  node: NodeIdentity,
  volumes: readonly SeenVolume[],
): Promise<void> {
  await env.cache.barrier();
  const statuses = ranges.of(ranges.volumeStatuses, node.tenant);
  for (const seen of volumes) {
    await storeObservation(env, seen.id, () => {
      const entry = env.cache.list(statuses).find(each => value<VolumeStatus>(each).id === seen.id);
      const status = entry && value<VolumeStatus>(entry);
      const assigned = findAssigned(env, node, status);
      const own = assigned && env.cache.get(keys.volume(node.tenant, assigned.id));
      // Bytes are gone only where that was ordered: what an agent says beside it is not believed.
      if (!status || !own || (seen.state === 'removed' && !assigned.isDeleted)) return undefined;
      const believed = believeReport(seen, status, (term, proof) =>
        env.keyring.matches(toProvenText(node.tenant, seen.id, term), proof),
      );
      return { key: keys.volumeReport(node.tenant, seen.id, node.id), seen: { ...believed, nodeId: node.id }, of: own };
    });
  }
}
