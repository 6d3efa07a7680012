import { keys, type ObjectName, splitKey } from '../../crds/keys/index.js';
import type { NodePresence, NodeStatus, StoredNode } from '../../crds/node/index.js';
import { REPLICAS_BY_NODE } from '../../pkg/fleet/index.js';
import { done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Entry, type Guard, type Put, value } from '../../pkg/store/index.js';
import { parseQueueKey } from '../reading/index.js';
import { decideNode, type NodeDecision } from './decide.js';

/** Everything that is stored about one node, as the cache shows it. */
interface Reading {
  readonly node: Entry | undefined;
  readonly alive: Entry | undefined;
  readonly grace: Entry | undefined;
  readonly status: Entry | undefined;
}

/**
 * Writes how one node is, when that has changed.
 *
 * The change is guarded by the very presence, or absence, that was seen: a node that came back a moment ago is not
 * called failed, and nothing on it lost.
 */
export function monitorNode(graceSeconds: number): Reconcile {
  return async (key, env) => {
    const named = parseQueueKey(key);
    const reading = read(named, env);
    if (!reading.node) {
      const left = [reading.status, reading.grace].filter(entry => entry !== undefined);
      if (left.length > 0) await env.commit(forget(named, left, turnsOf(reading)));
      return done; // no such node any more
    }
    const node = value<StoredNode>(reading.node);
    const decision = decideNode(
      {
        node,
        presence: reading.alive && value<NodePresence>(reading.alive),
        written: reading.status && value<NodeStatus>(reading.status),
        inGrace: reading.grace !== undefined,
        residents: env.cache.by(REPLICAS_BY_NODE, node.id).length,
      },
      new Date(env.clock.now()).toISOString(),
    );
    if (!decision) return done;

    await env.commit(await changeFor(decision, named, reading, { env, graceSeconds }));
    const { status, reason } = decision.status;
    env.log.info('node changed status', { tenant: named.tenant, node: named.name, because: `${status}, ${reason}` });
    return done;
  };
}

function read({ tenant, name }: ObjectName, { cache }: LoopEnv): Reading {
  return {
    node: cache.get(keys.node(tenant, name)),
    alive: cache.get(keys.alive(tenant, name)),
    grace: cache.get(keys.nodeGrace(tenant, name)),
    status: cache.get(keys.nodeStatus(tenant, name)),
  };
}

/** Removes what was written of a node that is no longer known. */
function forget({ tenant, name }: ObjectName, left: readonly Entry[], turns: readonly string[]): Change {
  const absent = { key: keys.node(tenant, name), at: 0 };
  return {
    guards: [absent, ...left.map(({ key, revision }) => ({ key, at: revision }))],
    puts: [],
    deletes: [...left.map(({ key }) => key), ...turns],
  };
}

/** The turn at the host ports of the node that the status tells of, when it is not the node that is there now. */
function turnsOf({ node, status }: Reading): readonly string[] {
  const written = status && value<NodeStatus>(status);
  if (!written || (node && value<StoredNode>(node).id === written.id)) return [];
  return [keys.portTurn(splitKey(status.key)[0]!, written.id)];
}

async function changeFor(
  { status, event, grace }: NodeDecision,
  { tenant, name }: ObjectName,
  reading: Reading,
  { env, graceSeconds }: { readonly env: LoopEnv; readonly graceSeconds: number },
): Promise<Change> {
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
      asRead(statusKey, reading.status),
      asRead(keys.alive(tenant, name), reading.alive),
      asRead(graceKey, reading.grace),
      { key: keys.node(tenant, name), created: reading.node!.created },
    ],
    puts,
    deletes: [...(grace === 'ends' ? [graceKey] : []), ...turnsOf(reading)],
  };
}

function asRead(key: string, entry: Entry | undefined): Guard {
  return { key, at: entry?.revision ?? 0 };
}
