import { type Static, Type } from 'typebox';

import { reject } from '../rejections/index.js';
import { checkResidency } from '../residency/index.js';
import {
  type CheckResult,
  createValidator,
  type FieldRules,
  nodeReferenceSchema,
  rule,
  toCheckFailure,
} from '../rule/index.js';
import type { VolumeFacts, VolumeNode } from './admission.js';
import type { KnownVolume } from './volume.js';

/** A node as a move to it is judged. */
export interface MoveNode extends VolumeNode {
  /** `ready`, `draining` … */
  readonly status: string;
  /** Its disk has no room for the volume. */
  readonly isFull?: boolean;
}

/** What the API has looked up. */
export interface MoveFacts extends VolumeFacts {
  readonly nodes: 'unreadable' | readonly MoveNode[];
  readonly volume: KnownVolume;
  /** A move is under way to that node. */
  readonly movesTo?: string | undefined;
  /** Why what mounts it could not run on a node. */
  readonly explainBound: (nodeId: string) => string | undefined;
}

/** `POST /api/v1/tenants/{tenant}/volumes/{id}/move`. */
export const volumeMoveSchema = Type.Object({ node: nodeReferenceSchema }, { additionalProperties: false });

const canBeMoved = rule('volume_replica_unsupported', (node: unknown, at, refuse, { volume }: MoveFacts) =>
  volume.class === 'replicated' ? undefined : refuse(at, node),
);

const nodesAreRead = rule('node_candidates_unresolvable', (node: unknown, at, refuse, { nodes }: MoveFacts) =>
  nodes === 'unreadable' ? refuse(at, node, { nodes }) : undefined,
);

const nodeIsOwn = rule('node_not_a_placement_candidate', (node: unknown, at, refuse, facts: MoveFacts) => {
  const { nodes, volume } = facts;
  if (nodes === 'unreadable' || findTarget(node, facts)) return undefined;
  return refuse(at, node, { nodes: nodes.filter(({ id }) => id !== volume.primaryNode).map(({ name }) => name) });
});

const nodeCanTakeIt = rule('volume_move_node_unable', (node: unknown, at, refuse, facts: MoveFacts) => {
  const target = findTarget(node, facts);
  const because = target && explainUnable(target, facts);
  return because === undefined ? undefined : refuse(at, node, { because });
});

function findTarget(named: unknown, { nodes }: MoveFacts): MoveNode | undefined {
  return nodes === 'unreadable' ? undefined : nodes.find(({ id, name }) => id === named || name === named);
}

/** Why the primary of a volume cannot move to a node. */
function explainUnable(node: MoveNode, { volume, regions, explainBound }: MoveFacts): string | undefined {
  const { id, name, labels, status, noCopies, isFull = false } = node;
  if (id === volume.primaryNode) return `${name} has the primary already`;
  if (checkResidency(volume.residency ?? {}, labels, regions).length > 0) return `${name} is outside its residency`;
  if (status === 'draining') return `${name} is drained and takes no work`;
  if (status !== 'ready') return `${name} is ${status}`;
  // From there it is copied to the others.
  if (noCopies !== undefined) return `${name} is ${noCopies}`;
  const isHeld = volume.copies.some(({ nodeId }) => nodeId === id);
  if (isFull && !isHeld) return `${name} has no room for it`;
  return explainBound(id);
}

const fields: readonly FieldRules<MoveFacts>[] = [
  { field: 'node', present: [canBeMoved, nodesAreRead, nodeIsOwn, nodeCanTakeIt] },
];

const validate = createValidator(volumeMoveSchema, fields);

/** Judges a request to move a volume: the node, then the state of the volume. Answers the id of the node. */
export function checkVolumeMove(document: unknown, facts: MoveFacts): CheckResult<{ readonly nodeId: string }> {
  const refused = toCheckFailure(validate(document, () => facts));
  if (refused) return refused;
  const { volume, movesTo } = facts;
  const { id: nodeId } = findTarget((document as Static<typeof volumeMoveSchema>).node, facts)!;
  if (movesTo !== undefined)
    return toCheckFailure([reject('volume_move_under_way', 'id', volume.id, { to: movesTo })])!;
  if (volume.phase !== 'Ready' && volume.phase !== 'Resizing')
    return toCheckFailure([reject('volume_not_ready', 'id', volume.id, { phase: volume.phase })])!;
  return { ok: true, value: { nodeId } };
}
