import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import type { EventDraft } from '../events/index.js';
import { ConflictFault, encode, type Entry, type Guard, type Put, value } from '../store/index.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import type { Heartbeat, NodeIdentity } from './agent-link.js';

const ATTEMPTS = 5;

/**
 * What an agent has not seen for longer is not claimed any more. It lists its containers every 30 s, so one list may be late.
 */
export const OBSERVED_WITHIN_MS = 75_000;

/** Stores labels, capacity and version of the node when they changed. False when the node does not exist. */
export async function recordAdvertisement(env: DispatcherEnv, node: NodeIdentity, beat: Heartbeat): Promise<boolean> {
  const key = keys.node(node.tenant, node.name);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const held = env.cache.get(key);
    const stored = held && value<StoredNode>(held);
    if (held && stored?.id === node.id) {
      // Whether the control plane runs on the node was decided when it enrolled, and not by its agent.
      const { labels, capacity, agentVersion, conditions = stored.conditions ?? [] } = beat;
      const advertised = { labels, capacity, agentVersion, ...(conditions.length > 0 && { conditions }) };
      if (isDeepStrictEqual(advertised, pickAdvertised(stored))) return true;

      const metadata = {
        ...stored.metadata,
        generation: stored.metadata.generation + 1,
        updatedAt: new Date(env.clock.now()).toISOString(),
        specHash: hashSpec(advertised),
      };
      const { conditions: _former, ...rest } = stored;
      const updated: StoredNode = { ...rest, metadata, ...advertised };
      const puts: Put[] = [{ key, bytes: encode(updated) }];
      const event = toLabelsChangedEvent(stored, updated);
      if (event) puts.push(await env.events.put(event));
      const verdict = await env.store.commit({ guards: [{ key, at: held.revision }], puts, deletes: [] });
      if (verdict.stored) {
        await env.cache.reached(verdict.revision);
        return true;
      }
    } else if (attempt > 1) {
      return false;
    }
    await env.cache.barrier(); // the cache may be behind
  }
  throw new ConflictFault(key, ATTEMPTS);
}

/** The event for a node whose advertised labels changed; undefined when they did not. */
export function toLabelsChangedEvent(before: StoredNode, after: StoredNode): EventDraft | undefined {
  if (isDeepStrictEqual(before.labels, after.labels)) return undefined;
  return {
    type: 'node.labels_changed',
    tenant: after.metadata.tenant,
    subject: { kind: 'Node', name: after.name, id: after.id },
    reason: 'labels_changed',
    message: `The agent of node ${after.name} advertises different labels.`,
    data: { from: before.labels, to: after.labels },
  };
}

/**
 * Renews the lease of `alive/<tenant>/<node>`.
 *
 * The record names its lease, so every server can renew it. Only a node whose lease has expired gets a new one.
 */
export async function renewPresence(
  env: DispatcherEnv,
  node: NodeIdentity,
  { containersSeenMsAgo = 0 }: Pick<Heartbeat, 'containersSeenMsAgo'> = {},
): Promise<void> {
  const { store, cache, clock, failedAfterSeconds } = env;
  const key = keys.alive(node.tenant, node.name);
  const entry = cache.get(key);
  const known = entry && value<NodePresence>(entry);
  const isUnobserved = containersSeenMsAgo > OBSERVED_WITHIN_MS;
  const seenAt = new Date(clock.now() - containersSeenMsAgo).toISOString();
  const mark = isUnobserved ? { unobservedSince: seenAt } : {};
  if (entry && known?.id === node.id && (await store.keepAlive(known.lease))) {
    const { unobservedSince, ...rest } = known;
    if (isUnobserved === (unobservedSince !== undefined)) return;
    const bytes = encode({ ...rest, ...mark });
    const puts = [{ key, bytes, lease: known.lease }];
    await store.commit({ guards: [{ key, at: entry.revision }], puts, deletes: [] }); // if not stored, the next heartbeat repeats it
    return;
  }

  const lease = await store.grant(failedAfterSeconds);
  const current = await store.get(key);
  const nodeKey = keys.node(node.tenant, node.name);
  const unfenced = removeFence(await store.get(nodeKey));
  const since = new Date(clock.now()).toISOString();
  const presence: NodePresence = { id: node.id, lease: lease.id, since, ...mark };

  const verdict = await store.commit({
    guards: [{ key, at: current?.revision ?? 0 }, unfenced?.guard ?? { key: nodeKey, exists: true }],
    puts: [{ key, bytes: encode(presence), lease: lease.id }, ...(unfenced ? [unfenced.put] : [])],
    deletes: [],
  });
  // The next heartbeat must find this lease instead of granting another.
  if (verdict.stored) await cache.reached(verdict.revision);
  else await store.revoke(lease.id);
}

/** A machine that sends heartbeats is not off, so its return removes the fence order. */
function removeFence(entry: Entry | undefined): { readonly guard: Guard; readonly put: Put } | undefined {
  if (!entry) return undefined;
  const { orders, ...node } = value<StoredNode>(entry);
  if (!orders?.fence) return undefined;
  const { fence: _, ...rest } = orders;
  const returned: StoredNode = { ...node, ...(Object.keys(rest).length > 0 && { orders: rest }) };
  return { guard: { key: entry.key, at: entry.revision }, put: { key: entry.key, bytes: encode(returned) } };
}

/** What a heartbeat can change. */
function pickAdvertised({ labels, capacity, agentVersion, conditions }: StoredNode) {
  return { labels, capacity, agentVersion, ...(conditions && { conditions }) };
}
