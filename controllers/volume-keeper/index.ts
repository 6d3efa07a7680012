/**
 * The volume keeper: chooses the node of each volume, and derives its phase from what the agent there reports and from the state of
 * that node. Each move from phase to phase is one transaction with its event.
 *
 * It removes the record of a volume that is to be deleted when the agent has removed the bytes.
 *
 * @module
 */
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { defaultPolicy, findNode, type PlacementPolicy, toCandidate } from '../../pkg/fleet/index.js';
import { done, type Loop, type LoopEnv, type ReconcileResult, type Wake } from '../../pkg/reconcile/index.js';
import {
  type Cache,
  encode,
  type Entry,
  findRecordFault,
  listValues,
  readValue,
  value,
} from '../../pkg/store/index.js';
import { deriveQueueKey, parseQueueKey, readChange, wakeItself } from '../reading/index.js';
import { chooseNode, usesDisk, type VolumeCandidate } from './choose-node.js';
import { decideVolume } from './decide.js';

export function createVolumeKeeper(policy: PlacementPolicy = defaultPolicy): Loop {
  return {
    name: 'volume-keeper',
    wakes: [
      wakeItself(ranges.volumes),
      wakeItself(ranges.volumeReports),
      wakeItself(ranges.volumeStatuses),
      wakeWaiting(ranges.volumes),
      wakeOnNode(ranges.nodes),
      wakeOnNode(ranges.nodeStatuses),
    ],
    reconcile: (key, env) => keep(key, env, policy),
    concurrency: 1, // of two volumes that are placed at once, the second must see what the first takes
  };
}

/** Wakes the volumes of a node, and those that wait for one, when what is stored of it changes. */
function wakeOnNode(prefix: string): Wake {
  return {
    prefix,
    keys: (change, cache) => {
      const { after, before } = readChange<{ readonly id: string }>(change);
      return listStatuses(change.key, cache)
        .filter(({ status }) => [undefined, after?.id, before?.id].includes(status?.primaryNode))
        .map(({ key }) => key);
    },
  };
}

/** Wakes the volumes that wait for a node when another one is gone. */
function wakeWaiting(prefix: string): Wake {
  return {
    prefix,
    keys: ({ key, entry }, cache) => {
      if (entry) return [];
      return listStatuses(key, cache)
        .filter(({ status }) => status?.primaryNode === undefined)
        .map(waiting => waiting.key);
    },
  };
}

function listStatuses(storeKey: string, cache: Cache) {
  const [tenant = ''] = splitKey(storeKey);
  return cache.list(ranges.of(ranges.volumes, tenant)).map(({ key }) => {
    const { name } = parseQueueKey(deriveQueueKey(key));
    return { key: deriveQueueKey(key), status: readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, name)) };
  });
}

async function keep(queueKey: string, env: LoopEnv, policy: PlacementPolicy): Promise<ReconcileResult> {
  const { tenant, name: id } = parseQueueKey(queueKey);
  const { cache, clock, commit, events, log } = env;
  const key = keys.volumeStatus(tenant, id);
  const entry = cache.get(keys.volume(tenant, id));
  const stored = cache.get(key);
  if (!entry) return removeRest(tenant, id, env);
  if (findRecordFault(entry) !== undefined) return done; // what cannot be read is left alone, its bytes included
  const volume = value<StoredVolume>(entry);
  const status = stored && findRecordFault(stored) === undefined ? value<VolumeStatus>(stored) : undefined;
  const decision = decideVolume({
    volume,
    status,
    reports: listValues<VolumeReport>(cache, ranges.volumeReportsOf(tenant, id)),
    findHost: nodeId => {
      const node = findNode(nodeId, tenant, cache);
      return node && toCandidate(node, cache);
    },
    chooseNode: () => chooseNode(listCandidates(tenant, cache), readDemand(volume, cache, policy)),
    now: new Date(clock.now()).toISOString(),
  });
  if ('status' in decision && decision.status === status) return done;

  const from = status?.phase ?? 'Pending';
  const subject = { kind: 'Volume', name: volume.name, id } as const;
  const guards = [
    { key: entry.key, at: entry.revision },
    { key, at: stored?.revision ?? 0 },
  ];
  if ('remove' in decision) {
    const message = `volume ${volume.name} was deleted: ${decision.remove}`;
    const data = { from: 'Deleting', to: null };
    const event = await events.put({
      type: 'volume.phase_changed',
      tenant,
      subject,
      reason: 'volume_deleted',
      message,
      data,
    });
    const rest = listRest(tenant, id, cache).map(each => each.key);
    await commit({ guards, puts: [event], deletes: [entry.key, ...rest] });
    log.info('volume deleted', { tenant, volume: id });
    return done;
  }
  const { phase, reason, message, primaryNode } = decision.status;
  // Of a deletion the request itself has told.
  const isTold = phase === from || phase === 'Deleting';
  const event = isTold
    ? []
    : [
        await events.put({
          type: 'volume.phase_changed',
          tenant,
          subject,
          reason,
          message: `volume ${volume.name} is ${phase}: ${message}`,
          ...(phase === 'Degraded' && { severity: 'warning' as const }),
          data: { from, to: phase, ...(primaryNode !== undefined && { primaryNode }) },
        }),
      ];
  await commit({ guards, puts: [{ key, bytes: encode(decision.status) }, ...event], deletes: [] });
  if (phase !== from) log.info('volume changed phase', { tenant, volume: id, phase, because: reason });
  return done;
}

/** Removes what stands beside a volume that is no more. */
async function removeRest(tenant: string, id: string, { cache, commit }: LoopEnv): Promise<ReconcileResult> {
  const rest = listRest(tenant, id, cache);
  if (rest.length === 0) return done;
  const absent = { key: keys.volume(tenant, id), at: 0 };
  const guards = rest.map(({ key, revision }: Entry) => ({ key, at: revision }));
  await commit({ guards: [...guards, absent], puts: [], deletes: rest.map(({ key }) => key) });
  return done;
}

/** What stands beside a volume. */
function listRest(tenant: string, id: string, cache: Cache): readonly Entry[] {
  const status = cache.get(keys.volumeStatus(tenant, id));
  return [...(status ? [status] : []), ...cache.list(ranges.volumeReportsOf(tenant, id))];
}

function readDemand(volume: StoredVolume, cache: Cache, { regions }: PlacementPolicy) {
  const { tenant } = volume.metadata;
  const { residency: asked } = volume;
  const isAsked =
    asked?.country !== undefined || asked?.region !== undefined || (asked?.blockedCountries?.length ?? 0) > 0;
  return {
    volume,
    ...(asked && isAsked && { residency: { asked, regions } }),
    platform: readValue<StoredTenant>(cache, keys.tenant(tenant))?.platform ?? false,
  };
}

function listCandidates(tenant: string, cache: Cache): readonly VolumeCandidate[] {
  const promised = new Map<string, number>();
  for (const volume of listValues<StoredVolume>(cache, ranges.of(ranges.volumes, tenant))) {
    const nodeId = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, volume.id))?.primaryNode;
    if (nodeId === undefined || !usesDisk(volume)) continue;
    promised.set(nodeId, (promised.get(nodeId) ?? 0) + volume.sizeBytes);
  }
  return listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).map(node => ({
    ...toCandidate(node, cache),
    disk: node.capacity.disk,
    promised: promised.get(node.id) ?? 0,
  }));
}
