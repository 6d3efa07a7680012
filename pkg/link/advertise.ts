import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { EventDraft } from '../events/index.js';
import { ConflictFault, encode, type Put, value } from '../store/index.js';
import type { DeskEnv } from './desk-env.js';
import type { Heartbeat } from './messages.js';
import type { NodeIdentity } from './node-identity.js';

const ATTEMPTS = 5;

/** Records what the node says of itself, where that is news. False when there is no such node. */
export async function advertise(env: DeskEnv, node: NodeIdentity, beat: Heartbeat): Promise<boolean> {
  const key = keys.node(node.tenant, node.name);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const held = env.cache.get(key);
    const stored = held && value<StoredNode>(held);
    if (held && stored?.id === node.id) {
      if (saysTheSame(stored, beat)) return true;

      const news = advertised(stored, beat, env.clock.now());
      const puts: Put[] = [{ key, bytes: encode(news) }];
      const event = labelsChanged(stored, news);
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
export function labelsChanged(before: StoredNode, after: StoredNode): EventDraft | undefined {
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
