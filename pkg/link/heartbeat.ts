import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import type { EventDraft } from '../events/index.js';
import { ConflictFault, encode, type Entry, type Guard, type Put, value } from '../store/index.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import type { Heartbeat, NodeIdentity } from './messages.js';

const ATTEMPTS = 5;

/** Records what the node says of itself, where that is news. False when there is no such node. */
export async function recordAdvertisement(env: DispatcherEnv, node: NodeIdentity, beat: Heartbeat): Promise<boolean> {
  const key = keys.node(node.tenant, node.name);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const held = env.cache.get(key);
    const stored = held && value<StoredNode>(held);
    if (held && stored?.id === node.id) {
      if (saysTheSame(stored, beat)) return true;

      const news = advertised(stored, beat, env.clock.now());
      const puts: Put[] = [{ key, bytes: encode(news) }];
      const event = toLabelsChangedEvent(stored, news);
      if (event) puts.push(await env.events.put(event));
      const verdict = await env.store.commit({ guards: [{ key, at: held.revision }], puts, deletes: [] });
      if (verdict.stored) {
        await env.cache.reached(verdict.revision);
        return true;
      }
    } else if (attempt > 1) {
      return false;
    }
    await env.cache.barrier(); // what the cache showed may be old
  }
  throw new ConflictFault(key, ATTEMPTS);
}

function saysTheSame(stored: StoredNode, beat: Heartbeat): boolean {
  return (
    stored.agentVersion === beat.agentVersion &&
    stored.controlPlane === isControlPlane(stored, beat) &&
    isDeepStrictEqual(stored.capacity, beat.capacity) &&
    isDeepStrictEqual(stored.labels, beat.labels)
  );
}

/** An agent that does not say leaves it as it was. */
function isControlPlane(stored: StoredNode, { controlPlane = stored.controlPlane }: Heartbeat): boolean {
  return controlPlane;
}

function advertised(stored: StoredNode, beat: Heartbeat, now: number): StoredNode {
  const { labels, capacity, agentVersion } = beat;
  const metadata = {
    ...stored.metadata,
    generation: stored.metadata.generation + 1,
    updatedAt: new Date(now).toISOString(),
    specHash: hashSpec({ labels, capacity, agentVersion }),
  };
  return { ...stored, metadata, labels, capacity, agentVersion, controlPlane: isControlPlane(stored, beat) };
}

/** Says that a node advertises other labels than before, when it does. */
export function toLabelsChangedEvent(before: StoredNode, after: StoredNode): EventDraft | undefined {
  if (isDeepStrictEqual(before.labels, after.labels)) return undefined;
  return {
    type: 'node.labels_changed',
    tenant: after.metadata.tenant,
    subject: { kind: 'Node', name: after.name, id: after.id },
    reason: 'labels_changed',
    message: `node ${after.name} advertises other labels`,
    data: { from: before.labels, to: after.labels },
  };
}

/**
 * Keeps `alive/<tenant>/<node>` there for another full silence.
 *
 * The lease is named by the record itself, so that every server can extend it; only a node that has not been heard
 * for too long gets a new one.
 */
export async function renewPresence(env: DispatcherEnv, node: NodeIdentity): Promise<void> {
  const key = keys.alive(node.tenant, node.name);
  const shown = env.cache.get(key);
  if (shown) {
    const { id, lease } = value<NodePresence>(shown);
    if (id === node.id && (await env.store.keepAlive(lease))) return;
  }
  await appear(env, node, key);
}

async function appear({ store, cache, clock, failedAfterSeconds }: DispatcherEnv, node: NodeIdentity, key: string) {
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
