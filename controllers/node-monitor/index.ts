/**
 * The node monitor: writes whether each node is joining, ready, unready, draining or failed, and when its replicas count as lost.
 *
 * Presence is a key on the node's lease, and so is the grace period of a failed node: missing heartbeats are noticed by the
 * store and not by a timer here, so a controller that was down or slow never takes its own absence for a node's.
 *
 * @module
 */
import { keys, type ObjectName, ranges, splitKey } from '../../crds/keys/index.js';
import { type NodeNameRecord, type NodePresence, type NodeStatus, type StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { VolumeStatus } from '../../crds/volume/index.js';
import { NODES_BY_ID, REPLICAS_BY_NODE } from '../../pkg/fleet/index.js';
import { done, type Loop, type LoopEnv, type Reconcile, type Wake } from '../../pkg/reconcile/index.js';
import {
  type Cache,
  type Change,
  encode,
  type Entry,
  findRecordFault,
  type Guard,
  listValues,
  type Put,
  readValue,
  value,
} from '../../pkg/store/index.js';
import { formatQueueKey, parseQueueKey, readChange, wakeItself } from '../reading/index.js';
import { decideNode, type NodeDecision } from './decide.js';

/** The default time that a failed node has to come back before its replicas count as lost. */
const GRACE_SECONDS = 60;

export function createNodeMonitor(graceSeconds = GRACE_SECONDS): Loop {
  return {
    name: 'node-monitor',
    wakes: [
      wakeItself(ranges.nodes),
      wakeItself(ranges.alive),
      wakeItself(ranges.nodeStatuses),
      wakeItself(ranges.nodeGraces),
      wakeDrainedNode,
      wakeOnMovedVolume,
      wakePlatformNode,
    ],
    reconcile: monitorNode(graceSeconds),
    concurrency: 16,
  };
}

/** Wakes a draining node when a replica is placed on it or deleted from it. */
const wakeDrainedNode: Wake = {
  prefix: ranges.replicas,
  keys: (change, cache) => {
    const { after, before } = readChange<Replica>(change);
    if (after?.nodeId === before?.nodeId) return [];
    const nodes = cache.by(NODES_BY_ID, (before?.nodeId ?? after?.nodeId)!).map(entry => value<StoredNode>(entry));
    const draining = nodes.filter(({ orders }) => orders?.drain);
    return draining.map(({ metadata, name }) => formatQueueKey({ tenant: metadata.tenant, name }));
  },
};

/** Wakes a draining node when the primary of a volume comes to it or leaves it. */
const wakeOnMovedVolume: Wake = {
  prefix: ranges.volumeStatuses,
  keys: (change, cache) => {
    const { after, before } = readChange<VolumeStatus>(change);
    if (after?.primaryNode === before?.primaryNode) return [];
    const ids = [after?.primaryNode, before?.primaryNode].filter(id => id !== undefined);
    const nodes = ids.flatMap(id => cache.by(NODES_BY_ID, id).map(entry => value<StoredNode>(entry)));
    const draining = nodes.filter(({ orders }) => orders?.drain);
    return draining.map(({ metadata, name }) => formatQueueKey({ tenant: metadata.tenant, name }));
  },
};

/** The volumes that a drain has to move away first. */
function countPrimaries({ id, metadata: { tenant }, orders }: StoredNode, cache: Cache): number {
  if (!orders?.drain) return 0;
  const statuses = listValues<VolumeStatus>(cache, ranges.of(ranges.volumeStatuses, tenant));
  // Only those that are copied have an epoch.
  return statuses.filter(({ primaryNode, epoch }) => primaryNode === id && epoch !== undefined).length;
}

/** Wakes the node that a process of the control plane runs on when its record appears or ends. */
const wakePlatformNode: Wake = {
  prefix: ranges.platform,
  keys: ({ key }, cache) => {
    const [name = ''] = splitKey(key);
    const {
      claims: [owner],
    } = readValue<NodeNameRecord>(cache, keys.nodeName(name)) ?? { claims: [] };
    return owner ? [formatQueueKey({ tenant: owner.tenant, name })] : [];
  },
};

/** Everything that is stored about one node, as the cache shows it. */
interface NodeRecords {
  readonly node: Entry | undefined;
  readonly alive: Entry | undefined;
  readonly grace: Entry | undefined;
  readonly status: Entry | undefined;
}

/**
 * Writes the status of one node when it has changed.
 *
 * The change is guarded by the presence key, or its absence, as it was read: a node that has just come back is not marked
 * failed, and its replicas are not lost.
 */
function monitorNode(graceSeconds: number): Reconcile {
  return async (key, env) => {
    const named = parseQueueKey(key);
    const records = readRecords(named, env);
    if (!records.node) {
      const leftovers = [records.status, records.grace].filter(entry => entry !== undefined);
      if (leftovers.length > 0)
        await env.commit(removeRecords(named, leftovers, listStalePortConflicts(named, records)));
      return done; // the node was removed
    }
    const node = value<StoredNode>(records.node);
    const fault = findRecordFault(records.node);
    const decision = decideNode(
      {
        node,
        ...(fault !== undefined && { fault }),
        presence: readPresence(records, node),
        written: readStatus(records, node),
        inGrace: records.grace !== undefined,
        residents: env.cache.by(REPLICAS_BY_NODE, node.id).length + countPrimaries(node, env.cache),
        hasPlatformRecord: node.controlPlane && env.cache.list(ranges.platformOn(node.name)).length > 0,
      },
      new Date(env.clock.now()).toISOString(),
    );
    if (!decision) return done;

    await env.commit(await buildStatusChange(decision, named, records, graceSeconds, env));
    const { status, reason } = decision.status;
    env.log.info('node changed status', { tenant: named.tenant, node: named.name, phase: status, because: reason });
    return done;
  };
}

function readRecords({ tenant, name }: ObjectName, { cache }: LoopEnv): NodeRecords {
  return {
    node: cache.get(keys.node(tenant, name)),
    alive: cache.get(keys.alive(tenant, name)),
    grace: cache.get(keys.nodeGrace(tenant, name)),
    status: cache.get(keys.nodeStatus(tenant, name)),
  };
}

/** Who keeps the lease of a presence that cannot be read sends heartbeats all the same. */
function readPresence({ alive }: NodeRecords, { id }: StoredNode): NodePresence | undefined {
  if (!alive) return undefined;
  const presence = value<NodePresence>(alive);
  return findRecordFault(alive) === undefined ? presence : { ...presence, id };
}

/** A status that cannot be read counts as one of a node that was present: if it no longer is, it has failed. */
function readStatus({ status }: NodeRecords, { id }: StoredNode): NodeStatus | undefined {
  if (!status) return undefined;
  const written = value<NodeStatus>(status);
  if (findRecordFault(status) === undefined) return written;
  return { id, status: 'unready', reason: 'record_unusable', since: written.since };
}

/** The change that deletes the records of a removed node. */
function removeRecords(
  { tenant, name }: ObjectName,
  entries: readonly Entry[],
  portConflicts: readonly string[],
): Change {
  return {
    guards: [{ key: keys.node(tenant, name), at: 0 }, ...entries.map(({ key, revision }) => ({ key, at: revision }))],
    puts: [],
    deletes: [...entries.map(({ key }) => key), ...portConflicts],
  };
}

/** The port conflict key of the node that the stored status is about, when the name has another node or none by now. */
function listStalePortConflicts({ tenant }: ObjectName, { node, status }: NodeRecords): readonly string[] {
  const written = status && value<NodeStatus>(status);
  if (!written || (node && value<StoredNode>(node).id === written.id)) return [];
  return [keys.portConflict(tenant, written.id)];
}

async function buildStatusChange(
  { status, event, grace }: NodeDecision,
  named: ObjectName,
  records: NodeRecords,
  graceSeconds: number,
  env: LoopEnv,
): Promise<Change> {
  const { tenant, name } = named;
  const graceKey = keys.nodeGrace(tenant, name);
  const statusKey = keys.nodeStatus(tenant, name);
  const puts: Put[] = [{ key: statusKey, bytes: encode(status) }];
  if (event) puts.push(await env.events.put(event));
  if (grace === 'begins') {
    const lease = await env.lease(Math.max(1, graceSeconds));
    puts.push({ key: graceKey, bytes: encode({ id: status.id, since: status.since }), lease });
  }
  return {
    guards: [
      guardAsRead(statusKey, records.status),
      guardAsRead(keys.alive(tenant, name), records.alive),
      guardAsRead(graceKey, records.grace),
      { key: keys.node(tenant, name), created: records.node!.created },
    ],
    puts,
    deletes: [...(grace === 'ends' ? [graceKey] : []), ...listStalePortConflicts(named, records)],
  };
}

function guardAsRead(key: string, entry: Entry | undefined): Guard {
  return { key, at: entry?.revision ?? 0 };
}
