import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { NodeClaim, NodeNameRecord, StoredNode } from '../../crds/node/index.js';
import { done, type Reconcile, type Wake } from '../../pkg/reconcile/index.js';
import { type Cache, encode, findRecordFault, value } from '../../pkg/store/index.js';

/** Wakes on the name of a node whose record cannot be read. */
export const wakeOnBrokenName: Wake = {
  prefix: ranges.nodeNames,
  keys: ({ key, entry }) => (entry && findRecordFault(entry) !== undefined ? [key] : []),
};

/**
 * Rewrites the claims to a node when they cannot be read: without them its owner could neither delete nor enrol it. The tenants
 * that have a node of the name own it, the oldest first; further claims stay where they can be read. A name of no node is freed.
 */
export const repairNodeName: Reconcile = async (key, env) => {
  await env.cache.barrier();
  const entry = env.cache.get(key);
  if (!entry || findRecordFault(entry) === undefined) return done;
  const [name = ''] = splitKey(key);
  const nodes = env.cache.list(ranges.nodes).filter(each => splitKey(each.key)[1] === name);
  const owners = nodes.map(each => toClaim(each.key, value<StoredNode>(each))).toSorted(byAge);
  const others = value<NodeNameRecord>(entry).claims.filter(
    ({ tenant }) => isTenant(tenant, env.cache) && !owners.some(owner => owner.tenant === tenant),
  );
  const record: NodeNameRecord = { claims: [...owners, ...others] };
  const isFree = record.claims.length === 0;
  await env.commit({
    guards: [{ key, at: entry.revision }, ...nodes.map(each => ({ key: each.key, created: each.created }))],
    puts: isFree ? [] : [{ key, bytes: encode(record) }],
    deletes: isFree ? [key] : [],
  });
  env.log.warn('repaired the claims to a node', { node: name, count: record.claims.length });
  return done;
};

function toClaim(key: string, { metadata }: StoredNode): NodeClaim {
  return { tenant: splitKey(key)[0]!, since: metadata.createdAt };
}

function byAge(a: NodeClaim, b: NodeClaim): number {
  return a.since < b.since ? -1 : 1;
}

function isTenant(id: string, cache: Cache): boolean {
  return cache.get(keys.tenant(id)) !== undefined;
}
