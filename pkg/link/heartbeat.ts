import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { AdvertisedSetBack, StoredNode } from '../../crds/node/index.js';
import type { EventDraft } from '../events/index.js';
import { ConflictFault, encode, type Put, value } from '../store/index.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import type { Heartbeat, NodeIdentity, SeenSetBack } from './agent-link.js';

const ATTEMPTS = 5;

/** Stores labels, capacity and version of the node when they changed. False when the node does not exist. */
export async function recordAdvertisement(env: DispatcherEnv, node: NodeIdentity, beat: Heartbeat): Promise<boolean> {
  const key = keys.node(node.tenant, node.name);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const held = env.cache.get(key);
    const stored = held && value<StoredNode>(held);
    if (held && stored?.id === node.id) {
      // Whether the control plane runs on the node was decided when it enrolled, and not by its agent.
      const {
        labels,
        capacity,
        agentVersion,
        engine,
        volumeAddress,
        volumeDriver,
        lacks,
        conditions = stored.conditions ?? [],
        removedVolumes,
        setBack,
      } = beat;
      const advertised = {
        labels,
        capacity,
        agentVersion,
        ...(engine && { engine }),
        ...(volumeAddress !== undefined && { volumeAddress }),
        ...(volumeDriver !== undefined && { volumeDriver }),
        ...(lacks && { lacks }),
        ...(conditions.length > 0 && { conditions }),
        ...(removedVolumes && { removedVolumes }),
        ...(setBack && { setBack: toAdvertised(setBack) }),
      };
      if (isDeepStrictEqual(advertised, pickAdvertised(stored))) return true;

      const metadata = {
        ...stored.metadata,
        generation: stored.metadata.generation + 1,
        updatedAt: new Date(env.clock.now()).toISOString(),
        specHash: hashSpec(advertised),
      };
      const { conditions: _former, engine: _replaced, volumeAddress: _left, ...others } = stored;
      const { volumeDriver: _other, lacks: _able, removedVolumes: _gone, setBack: _declared, ...rest } = others;
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

/** What would become of the node, without what its agent has seen: that is for the server alone. */
function toAdvertised(setBack: SeenSetBack): AdvertisedSetBack {
  const { seen: _, ...advertised } = setBack;
  return advertised;
}

/** What a heartbeat can change. */
function pickAdvertised(node: StoredNode) {
  const { labels, capacity, agentVersion, engine, volumeAddress, volumeDriver, lacks, conditions } = node;
  const { removedVolumes, setBack } = node;
  return {
    labels,
    capacity,
    agentVersion,
    ...(engine && { engine }),
    ...(volumeAddress !== undefined && { volumeAddress }),
    ...(volumeDriver !== undefined && { volumeDriver }),
    ...(lacks && { lacks }),
    ...(conditions && { conditions }),
    ...(removedVolumes && { removedVolumes }),
    ...(setBack && { setBack }),
  };
}
