import type { Ownership } from '../engine.js';

/** The label that every container of ours carries: the node whose agent made it. */
export const NODE_LABEL = 'mooring.io/node';

/** The label that names the replica. */
export const REPLICA_LABEL = 'mooring.io/replica';

/** The label of a network that we made. */
export const TENANT_LABEL = 'mooring.io/tenant';

/** Writes ownership as labels. Nothing else ever becomes a label of a container. */
export function labelsOf(owner: Ownership): Record<string, string> {
  return {
    [NODE_LABEL]: owner.nodeId,
    [TENANT_LABEL]: owner.tenant,
    'mooring.io/deployment': owner.deployment,
    'mooring.io/deployment-uid': owner.deploymentUid,
    [REPLICA_LABEL]: owner.replica,
    'mooring.io/slot': String(owner.slot),
    'mooring.io/generation': String(owner.generation),
    'mooring.io/template-hash': owner.templateHash,
  };
}

/** Reads ownership back. Undefined when the labels are not all there: then it is not a container of ours. */
export function ownerOf(labels: Readonly<Record<string, string>> | null | undefined): Ownership | undefined {
  const read = (name: string) => labels?.[`mooring.io/${name}`] ?? '';
  const owner: Ownership = {
    nodeId: read('node'),
    tenant: read('tenant'),
    deployment: read('deployment'),
    deploymentUid: read('deployment-uid'),
    replica: read('replica'),
    slot: Number.parseInt(read('slot'), 10),
    generation: Number.parseInt(read('generation'), 10),
    templateHash: read('template-hash'),
  };
  const complete = owner.nodeId && owner.tenant && owner.deployment && owner.deploymentUid && owner.replica;
  return complete && owner.slot >= 0 && owner.generation >= 0 ? owner : undefined;
}
