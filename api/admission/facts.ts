import { type DeploymentFacts, unknownWorld } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { type Cache, type Guard, StoreUnavailableFault, value } from '../../pkg/store/index.js';

/** All that admission must know of the world, for this document. Looked up only where the document asks for it. */
export async function factsFor(cache: Cache, tenant: string, document: unknown): Promise<DeploymentFacts> {
  if (!namesNode(document)) return unknownWorld;
  try {
    await cache.barrier();
  } catch (thrown) {
    if (thrown instanceof StoreUnavailableFault) return { ...unknownWorld, nodes: 'unreadable' };
    throw thrown;
  }
  const nodes = cache.list(ranges.of(ranges.nodes, tenant)).map(entry => value<StoredNode>(entry));
  return { ...unknownWorld, nodes: nodes.map(({ id, name, labels }) => ({ id, name, labels, reachable: true })) };
}

/** Holds the write to the facts: the node that was found must still be there. */
export function guardsOf(cache: Cache, tenant: string, nodeId: string | undefined): readonly Guard[] {
  if (nodeId === undefined) return [];
  const entries = cache.list(ranges.of(ranges.nodes, tenant));
  const node = entries.find(entry => value<StoredNode>(entry).id === nodeId);
  return node ? [{ key: node.key, created: node.created }] : [];
}

function namesNode(document: unknown): boolean {
  return typeof document === 'object' && document !== null && 'nodeId' in document;
}
