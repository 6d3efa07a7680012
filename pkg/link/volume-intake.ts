import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import {
  type AssignedVolume,
  type SeenVolume,
  type StoredVolume,
  toAssignedVolume,
  type VolumeReport,
  type VolumeStatus,
} from '../../crds/volume/index.js';
import { ConflictFault, encode, findRecordFault, readValue, value } from '../store/index.js';
import type { NodeIdentity } from './agent-link.js';
import type { DispatcherEnv } from './dispatcher-env.js';

const ATTEMPTS = 5;

/** The volumes whose bytes are on a node. A record that cannot be worked with is not sent: nothing is decided from it. */
export function listAssignedVolumes(
  { cache }: Pick<DispatcherEnv, 'cache'>,
  { tenant, id }: NodeIdentity,
): readonly AssignedVolume[] {
  return cache.list(ranges.of(ranges.volumeStatuses, tenant)).flatMap(entry => {
    const status = value<VolumeStatus>(entry);
    const volume = status.primaryNode === id ? cache.get(keys.volume(tenant, status.id)) : undefined;
    if (!volume || findRecordFault(volume) !== undefined) return [];
    return [toAssignedVolume(value<StoredVolume>(volume), status)];
  });
}

/** The status of a volume, by the key of its record or of its status. */
export function findVolumeStatus({ cache }: Pick<DispatcherEnv, 'cache'>, key: string): VolumeStatus | undefined {
  const [tenant = '', id = ''] = splitKey(key);
  return readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, id));
}

/**
 * Stores what an agent says of volumes of its own node, each guarded by the record of the volume. What it says of any other is
 * passed over, so that an agent cannot find out which volumes exist.
 */
export async function storeVolumeReports(
  env: DispatcherEnv,
  node: NodeIdentity,
  volumes: readonly SeenVolume[],
): Promise<void> {
  await env.cache.barrier();
  for (const seen of volumes) await storeReport(env, node, seen);
}

async function storeReport(env: DispatcherEnv, node: NodeIdentity, seen: SeenVolume): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const assigned = listAssignedVolumes(env, node).find(({ id }) => id === seen.id);
    const own = assigned && env.cache.get(keys.volume(node.tenant, assigned.id));
    if (!own) return;
    // Bytes are gone only where that was ordered: what an agent says beside it is not believed.
    if (seen.state === 'removed' && !assigned.isDeleted) return;
    const key = keys.volumeReport(node.tenant, seen.id);
    const held = readValue<VolumeReport>(env.cache, key);
    if (held && isSame(held, { ...seen, nodeId: node.id })) return;
    const report: VolumeReport = { ...seen, nodeId: node.id, at: new Date(env.clock.now()).toISOString() };
    const { stored } = await env.store.commit({
      guards: [
        { key, at: env.cache.get(key)?.revision ?? 0 },
        { key: own.key, created: own.created },
      ],
      puts: [{ key, bytes: encode(report) }],
      deletes: [],
    });
    if (stored) return;
    await env.cache.barrier();
  }
  throw new ConflictFault(seen.id, ATTEMPTS);
}

function isSame(held: VolumeReport, seen: Omit<VolumeReport, 'at'>): boolean {
  const told = ['nodeId', 'state', 'message', 'driver', 'limits', 'usedBytes'] as const;
  return told.every(member => held[member] === seen[member]);
}
