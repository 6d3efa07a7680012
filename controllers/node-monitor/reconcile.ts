import { keys } from '../../crds/keys/index.js';
import type { NodePresence, NodeStatus, StoredNode } from '../../crds/node/index.js';
import { done, type Reconcile } from '../../pkg/reconcile/index.js';
import { encode, type Entry, type Guard, value } from '../../pkg/store/index.js';
import { namedBy } from '../reading/index.js';
import { decideNode } from './decide.js';

/**
 * Writes how one node is, when that has changed.
 *
 * The change is guarded by the very presence, or absence, that was seen: a node that came back a moment ago is not
 * called failed.
 */
export const monitorOne: Reconcile = async (key, env) => {
  const { tenant, name } = namedBy(key);
  const node = env.cache.get(keys.node(tenant, name));
  const alive = env.cache.get(keys.alive(tenant, name));
  const statusKey = keys.nodeStatus(tenant, name);
  const written = env.cache.get(statusKey);
  if (!node) {
    if (written)
      await env.commit({
        guards: [asRead(statusKey, written), asRead(keys.node(tenant, name), node)],
        puts: [],
        deletes: [statusKey],
      });
    return done; // no such node any more
  }

  const decision = decideNode(
    value<StoredNode>(node),
    alive && value<NodePresence>(alive),
    written && value<NodeStatus>(written),
    new Date(env.clock.now()).toISOString(),
  );
  if (!decision) return done;

  const event = decision.event && (await env.events.put(decision.event));
  await env.commit({
    guards: [
      asRead(statusKey, written),
      asRead(keys.alive(tenant, name), alive),
      { key: node.key, created: node.created },
    ],
    puts: [{ key: statusKey, bytes: encode(decision.status) }, ...(event ? [event] : [])],
    deletes: [],
  });
  env.log.info('node changed status', { tenant, node: name, because: decision.status.status });
  return done;
};

function asRead(key: string, entry: Entry | undefined): Guard {
  return { key, at: entry?.revision ?? 0 };
}
