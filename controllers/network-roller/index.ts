/**
 * The network roller: derives the status of a network from what the agent of its node reports and from the state of that node.
 *
 * It writes a status only when it differs, and removes it with the network.
 *
 * @module
 */
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NetworkReport, NetworkStatus, StoredNetwork } from '../../crds/network/index.js';
import { type NodeStatus } from '../../crds/node/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { findNode } from '../../pkg/fleet/index.js';
import { done, type Loop, type Reconcile, type Wake } from '../../pkg/reconcile/index.js';
import { type Cache, encode, findRecordFault, readValue, value } from '../../pkg/store/index.js';
import { deriveQueueKey, parseQueueKey, readChange, wakeItself } from '../reading/index.js';
import { findEvent, type NetworkNode, rollNetwork } from './decide.js';

export function createNetworkRoller(): Loop {
  return {
    name: 'network-roller',
    wakes: [
      wakeItself(ranges.networks),
      wakeItself(ranges.networkReports),
      wakeItself(ranges.networkStatuses),
      wakeOnNode(ranges.nodes),
      wakeOnNode(ranges.nodeStatuses),
    ],
    reconcile: roll,
    concurrency: 4,
  };
}

/** Wakes the networks of a node when what is stored of it changes. */
function wakeOnNode(prefix: string): Wake {
  return {
    prefix,
    keys: (change, cache) => {
      const { after, before } = readChange<{ readonly id: string }>(change);
      const [tenant = ''] = splitKey(change.key);
      const networks = cache.list(ranges.of(ranges.networks, tenant));
      const isThere = ({ nodeId }: StoredNetwork) => nodeId === after?.id || nodeId === before?.id;
      return networks.filter(entry => isThere(value<StoredNetwork>(entry))).map(({ key }) => deriveQueueKey(key));
    },
  };
}

const roll: Reconcile = async (queueKey, { cache, clock, commit, events, log }) => {
  const { tenant, name } = parseQueueKey(queueKey);
  const key = keys.networkStatus(tenant, name);
  const stored = cache.get(key);
  const entry = cache.get(keys.network(tenant, name));
  const at = { key, at: stored?.revision ?? 0 };
  if (!entry) {
    const absent = { key: keys.network(tenant, name), at: 0 };
    if (stored) await commit({ guards: [at, absent], puts: [], deletes: [key] });
    return done;
  }
  const network = value<StoredNetwork>(entry);
  const previous = stored && value<NetworkStatus>(stored);
  const status = rollNetwork({
    network,
    fault: findRecordFault(entry),
    node: readNode(network, cache),
    report: readValue<NetworkReport>(cache, keys.networkReport(tenant, name)),
    previous,
    now: new Date(clock.now()).toISOString(),
  });
  if (status === previous) return done;

  const type = findEvent(previous?.uid === status.uid ? previous : undefined, status);
  const event = type && {
    type,
    tenant,
    subject: { kind: 'Network', name, id: status.uid } as const,
    ...(type === 'network.failed' && { severity: 'warning' as const }),
    reason: status.reason,
    message: status.message,
    data: { ...(status.node !== undefined && { node: status.node }) },
  };
  failpoint('network.rolling');
  await commit({
    guards: [at, { key: entry.key, created: entry.created }],
    puts: [{ key, bytes: encode(status) }, ...(event ? [await events.put(event)] : [])],
    deletes: [],
  });
  failpoint('network.rolled');
  log.info('network changed state', { tenant, network: name, phase: status.state, because: status.reason });
  return done;
};

function readNode({ nodeId, metadata: { tenant } }: StoredNetwork, cache: Cache): NetworkNode | undefined {
  const node = findNode(nodeId, tenant, cache);
  if (!node) return undefined;
  const status = readValue<NodeStatus>(cache, keys.nodeStatus(tenant, node.name));
  return { name: node.name, status: status?.id === nodeId ? status : undefined };
}
