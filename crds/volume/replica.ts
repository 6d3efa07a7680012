import { Type } from 'typebox';

import { checkResidency } from '../residency/index.js';
import { annotate, type CheckResult, createValidator, type FieldRules, toRefusal, rule } from '../rule/index.js';
import type { VolumeFacts, VolumeNode } from './create.js';
import type { KnownVolume } from './volume.js';

/** What the API has looked up. */
export interface ReplicaFacts extends VolumeFacts {
  readonly volume: KnownVolume;
}

/** `POST /api/v1/tenants/{tenant}/volumes/{id}/replicas`. */
export const volumeReplicaSchema = Type.Object(
  {
    node_id: Type.String({
      minLength: 1,
      maxLength: 128,
      ...annotate({ 'x-expected': 'the id or the name of a node' }),
    }),
  },
  { additionalProperties: false },
);

const volumeIsReplicated = rule('volume_replica_unsupported', (node: unknown, at, { volume }: ReplicaFacts, refuse) =>
  volume.class === 'replicated' ? undefined : refuse(at, node),
);

const nodesAreKnown = rule('node_candidates_unresolvable', (node: unknown, at, { nodes }: ReplicaFacts, refuse) =>
  nodes === 'unreadable' ? refuse(at, node, { nodes }) : undefined,
);

const nodeCanHoldIt = rule('volume_replica_node_conflict', (node: unknown, at, facts: ReplicaFacts, refuse) => {
  const free = freeNodes(facts);
  if (free.some(({ id, name }) => id === node || name === node)) return undefined;
  return refuse(at, node, { nodes: free.map(({ name }) => name) });
});

/** Nodes without a copy, inside the volume's residency. */
function freeNodes({ nodes, regions, volume }: ReplicaFacts): readonly VolumeNode[] {
  if (nodes === 'unreadable') return [];
  const held = new Set([volume.primaryNode, ...volume.copies.map(({ nodeId }) => nodeId)]);
  return nodes.filter(
    ({ id, labels }) => !held.has(id) && checkResidency(volume.residency ?? {}, labels, regions).length === 0,
  );
}

const fields: readonly FieldRules<ReplicaFacts>[] = [
  { field: 'node_id', present: [volumeIsReplicated, nodesAreKnown, nodeCanHoldIt] },
];

const examine = createValidator(volumeReplicaSchema, fields);

/** Judges a request for one more copy; answers the id of the node that is to hold it. */
export function checkVolumeReplica(document: unknown, facts: ReplicaFacts): CheckResult<{ readonly nodeId: string }> {
  const refused = toRefusal(examine(document, () => facts));
  if (refused) return refused;
  const asked = (document as { readonly node_id: string }).node_id;
  const node = freeNodes(facts).find(({ id, name }) => id === asked || name === asked);
  return { ok: true, value: { nodeId: node!.id } };
}
