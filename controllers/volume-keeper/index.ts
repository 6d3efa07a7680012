/**
 * The volume keeper: chooses the node of each volume, and derives its phase from what the agent there reports and from the state of
 * that node. Each move from phase to phase is one transaction with its event.
 *
 * It removes the record of a volume that is to be deleted when the agent has removed the bytes.
 *
 * @module
 */
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import { listOpenDiscards, listVolumeNodes, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import { defaultPolicy, type PlacementPolicy } from '../../pkg/fleet/index.js';
import {
  again,
  done,
  type Loop,
  type LoopEnv,
  ObservedTimes,
  type ReconcileResult,
  type Wake,
} from '../../pkg/reconcile/index.js';
import {
  type Cache,
  encode,
  type Entry,
  findRecordFault,
  type Guard,
  readValue,
  value,
} from '../../pkg/store/index.js';
import { deriveQueueKey, parseQueueKey, readChange, wakeItself } from '../reading/index.js';
import { decideVolume } from './decide.js';
import { draftEvents } from './events.js';
import type { VolumeInput } from './input.js';
import type { Promotion } from './promote.js';
import { listRest, readInput, readMarks } from './reading.js';

/** How often a volume is looked at again whose primary sends no heartbeats. */
const PROMOTION_MS = 10_000;
/** How often one is looked at that is to move. */
const MOVE_MS = 5_000;
/** The same of a copy. */
const REPLACEMENT_MS = 60_000;

export function createVolumeKeeper(policy: PlacementPolicy = defaultPolicy): Loop {
  const times = new ObservedTimes();
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
    reconcile: (key, env) => keep(key, env, { policy, times }),
    concurrency: 1, // of two volumes that are placed at once, the second must see what the first takes
  };
}

/** Wakes the volumes of a node, and those that wait for one, when what is stored of it changes. */
function wakeOnNode(prefix: string): Wake {
  return {
    prefix,
    keys: (change, cache) => {
      const { after, before } = readChange<{ readonly id: string }>(change);
      const ids = [after?.id, before?.id];
      return listStatuses(change.key, cache)
        .filter(each => isWaiting(each) || listVolumeNodes(each.status!).some(id => ids.includes(id)))
        .map(({ key }) => key);
    },
  };
}

/** Wakes the volumes that wait for a node when another one is gone. */
function wakeWaiting(prefix: string): Wake {
  return {
    prefix,
    keys: ({ key, entry }, cache) =>
      entry
        ? []
        : listStatuses(key, cache)
            .filter(isWaiting)
            .map(waiting => waiting.key),
  };
}

interface KnownStatus {
  readonly key: string;
  readonly volume: StoredVolume;
  readonly status: VolumeStatus | undefined;
}

/** Whether a volume, or a copy of it, has no node yet. */
function isWaiting({ volume, status }: KnownStatus): boolean {
  return status?.primaryNode === undefined || status.copies.length < (volume.replicas ?? 0);
}

function listStatuses(storeKey: string, cache: Cache): readonly KnownStatus[] {
  const [tenant = ''] = splitKey(storeKey);
  return cache.list(ranges.of(ranges.volumes, tenant)).map(entry => {
    const key = deriveQueueKey(entry.key);
    const status = readValue<VolumeStatus>(cache, keys.volumeStatus(tenant, parseQueueKey(key).name));
    return { key, volume: value<StoredVolume>(entry), status };
  });
}

interface KeeperParts {
  readonly policy: PlacementPolicy;
  readonly times: ObservedTimes;
}

async function keep(queueKey: string, env: LoopEnv, { policy, times }: KeeperParts): Promise<ReconcileResult> {
  const { tenant, name: id } = parseQueueKey(queueKey);
  const { cache, clock, commit, events, log } = env;
  const key = keys.volumeStatus(tenant, id);
  const entry = cache.get(keys.volume(tenant, id));
  const stored = cache.get(key);
  if (!entry) return removeRest(tenant, id, env);
  if (findRecordFault(entry) !== undefined) return done; // what cannot be read is left alone, its bytes included
  const volume = value<StoredVolume>(entry);
  const status = stored && findRecordFault(stored) === undefined ? value<VolumeStatus>(stored) : undefined;
  const now = new Date(clock.now()).toISOString();
  const ages = times.measure(queueKey, readMarks(volume, status, cache), env);
  const drawGenerationId = () => env.random.bytes(8).toString('hex');
  const input = { volume, status, ...readInput(volume, cache, policy, ages), drawGenerationId, now };
  const decision = decideVolume(input);
  const stale = 'status' in decision ? listStaleReports(tenant, decision.status, cache) : [];
  const result = 'status' in decision ? waitFor(input, decision.status) : done;
  const pruned = 'status' in decision ? dropFinishedOrders(input, decision.status) : volume;
  if ('status' in decision && decision.status === status && stale.length === 0 && pruned === volume) return result;

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
  const { phase, reason } = decision.status;
  const promoted = guardPromotion(tenant, id, decision.promotion, cache);
  const isLess = (decision.status.leaving ?? []).some(nodeId => !status?.leaving?.includes(nodeId));
  const removed = isLess ? guardReports(tenant, id, cache) : [];
  const drafts = draftEvents(volume, status, decision);
  const changed = await Promise.all(drafts.map(draft => events.put(draft)));
  await commit({
    guards: [...guards, ...promoted, ...removed, ...stale.map(each => ({ key: each.key, at: each.revision }))],
    puts: [
      { key, bytes: encode(decision.status) },
      ...(pruned === volume ? [] : [{ key: entry.key, bytes: encode(pruned) }]),
      ...changed,
    ],
    deletes: stale.map(each => each.key),
  });
  if (phase !== from) log.info('volume changed phase', { tenant, volume: id, phase, because: reason });
  return result;
}

/** The volume without orders that were carried out: its own generation stays, nothing else is asked for. */
function dropFinishedOrders({ volume, reports }: VolumeInput, status: VolumeStatus): StoredVolume {
  const { metadata, id, discarded = [], ...spec } = volume;
  const open = listOpenDiscards(volume, status, reports);
  if (open.length === discarded.length) return volume;
  const after = { ...spec, ...(open.length > 0 && { discarded: open }) };
  return { metadata: { ...metadata, specHash: hashSpec(after) }, id, ...after };
}

/** A promotion counts only while the lost node is lost, both agents have said nothing else, and the store is not known to be set back. */
function guardPromotion(tenant: string, id: string, promotion: Promotion | undefined, cache: Cache): readonly Guard[] {
  if (!promotion) return [];
  const { from, to, still = [] } = promotion;
  const guardKey = (key: string) => ({ key, at: cache.get(key)?.revision ?? 0 });
  const history = [keys.setBack(), keys.restoreEpoch()].map(guardKey);
  if (from === undefined) return [...history, ...guardReports(tenant, id, cache)];
  const reports = [from, to.id].map(nodeId => guardKey(keys.volumeReport(tenant, id, nodeId)));
  return [...history, ...reports, ...still];
}

/** What was decided by all that the agents have said counts only while none has said anything else. */
function guardReports(tenant: string, id: string, cache: Cache): readonly Guard[] {
  return cache.list(ranges.volumeReportsOf(tenant, id)).map(({ key, revision }) => ({ key, at: revision }));
}

/** When a lost primary, or a copy that is lost or fails, may be replaced is a matter of time too. */
function waitFor({ volume, reports, findHost }: VolumeInput, status: VolumeStatus): ReconcileResult {
  const { phase, copies, move, primaryNode = '' } = status;
  // A deadline, the end of a job and the next try of a drain wake no loop.
  if (move?.phase === 'Blocked' && volume.class !== 'replicated')
    return again(REPLACEMENT_MS, 'a volume cannot be moved');
  if (move || findHost(primaryNode)?.status === 'draining') return again(MOVE_MS, 'a volume is to move');
  if (volume.class !== 'replicated') return done;
  if (phase === 'Degraded' || phase === 'Promoting') return again(PROMOTION_MS, 'a copy may be promoted');
  const isShort =
    copies.some(({ state, failingSince }) => state === 'lost' || failingSince !== undefined) ||
    reports.some(({ state }) => state === 'failed');
  return isShort ? again(REPLACEMENT_MS, 'a copy may be made elsewhere') : done;
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

/** Reports of nodes that have nothing to do with the volume any more. */
function listStaleReports(tenant: string, status: VolumeStatus, cache: Cache): readonly Entry[] {
  const nodes = listVolumeNodes(status);
  const reports = cache.list(ranges.volumeReportsOf(tenant, status.id));
  return reports.filter(({ key }) => !nodes.includes(splitKey(key)[2] ?? ''));
}
