import { keys } from '../../crds/keys/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import { encode, type Entry, type Guard, type Put, value } from '../store/index.js';
import type { DeskEnv } from './desk-env.js';
import type { NodeIdentity } from './node-identity.js';

/**
 * Keeps `alive/<tenant>/<node>` there for another full silence.
 *
 * The lease is named by the record itself, so that every server can extend it; only a node that has not been heard
 * for too long gets a new one.
 */
export async function keepPresent(env: DeskEnv, node: NodeIdentity): Promise<void> {
  const key = keys.alive(node.tenant, node.name);
  const shown = env.cache.get(key);
  if (shown) {
    const { id, lease } = value<NodePresence>(shown);
    if (id === node.id && (await env.store.keepAlive(lease))) return;
  }
  await appear(env, node, key);
}

async function appear({ store, cache, clock, failedAfterSeconds }: DeskEnv, node: NodeIdentity, key: string) {
  const lease = await store.grant(failedAfterSeconds);
  const current = await store.get(key);
  const nodeKey = keys.node(node.tenant, node.name);
  const ended = endOfFence(await store.get(nodeKey));
  const presence: NodePresence = { id: node.id, lease: lease.id, since: new Date(clock.now()).toISOString() };

  const verdict = await store.commit({
    guards: [{ key, at: current?.revision ?? 0 }, ended?.guard ?? { key: nodeKey, exists: true }],
    puts: [{ key, bytes: encode(presence), lease: lease.id }, ...(ended ? [ended.put] : [])],
    deletes: [],
  });
  // The next heartbeat must find this lease rather than make another.
  if (verdict.stored) await cache.reached(verdict.revision);
  else await store.revoke(lease.id);
}

/** A machine that is heard is not off, whatever was said of it: the order to count it so ends with its return. */
function endOfFence(entry: Entry | undefined): { readonly guard: Guard; readonly put: Put } | undefined {
  if (!entry) return undefined;
  const { orders, ...node } = value<StoredNode>(entry);
  if (!orders?.fence) return undefined;
  const { fence: _, ...rest } = orders;
  const returned: StoredNode = { ...node, ...(Object.keys(rest).length > 0 && { orders: rest }) };
  return { guard: { key: entry.key, at: entry.revision }, put: { key: entry.key, bytes: encode(returned) } };
}
