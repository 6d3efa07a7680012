import { type DeploymentFacts, unknownWorld } from '../../crds/deployment/index.js';
import { isPinned, parseImageReference } from '../../crds/grammar/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { type Cache, type Guard, StoreUnavailableFault, value } from '../../pkg/store/index.js';
import type { ApiEnv } from '../env.js';

/** Whose document is judged, and against what. */
export interface Judged {
  readonly tenant: string;
  readonly document: unknown;
  /** What is stored, when this is an update. */
  readonly stored?: { readonly image: string };
}

/** All that admission must know of the world, for this document. Looked up at once, and only where it asks for it. */
export async function factsFor(env: ApiEnv, judged: Judged): Promise<DeploymentFacts> {
  const [nodes, image] = await Promise.all([nodesFor(env.cache, judged), imageFor(env, judged)]);
  return { ...unknownWorld, nodes, image };
}

async function nodesFor(cache: Cache, { tenant, document }: Judged): Promise<DeploymentFacts['nodes']> {
  if (sent(document, 'nodeId') === undefined) return [];
  try {
    await cache.barrier();
  } catch (thrown) {
    if (thrown instanceof StoreUnavailableFault) return 'unreadable';
    throw thrown;
  }
  const nodes = cache.list(ranges.of(ranges.nodes, tenant)).map(entry => value<StoredNode>(entry));
  return nodes.map(({ id, name, labels }) => ({ id, name, labels, reachable: true }));
}

/** Only an image that is new is looked for: one that was pulled long ago may have left its registry since. */
async function imageFor({ images }: ApiEnv, { tenant, document, stored }: Judged): Promise<DeploymentFacts['image']> {
  const image = sent(document, 'image');
  if (!images || typeof image !== 'string' || image === stored?.image) return 'unchecked';
  const reference = parseImageReference(image);
  return reference && isPinned(reference) ? images.imageFact(tenant, image) : 'unchecked';
}

/** Holds the write to the facts: the node that was found must still be there. */
export function guardsOf(cache: Cache, tenant: string, nodeId: string | undefined): readonly Guard[] {
  if (nodeId === undefined) return [];
  const entries = cache.list(ranges.of(ranges.nodes, tenant));
  const node = entries.find(entry => value<StoredNode>(entry).id === nodeId);
  return node ? [{ key: node.key, created: node.created }] : [];
}

function sent(document: unknown, field: string): unknown {
  const isMap = typeof document === 'object' && document !== null && Object.hasOwn(document, field);
  return isMap ? (document as Readonly<Record<string, unknown>>)[field] : undefined;
}
