import { Type } from 'typebox';

import { annotate, type FieldRules, rule } from '../rule/index.js';
import type { DeploymentContext } from './limits.js';

export const nodeIdSchema = Type.String({
  minLength: 1,
  maxLength: 128,
  ...annotate({ 'x-expected': 'the id or the name of a node' }),
});

/** Most node names that a refusal lists. */
const LISTED = 20;

const nodesAreKnown = rule(
  'node_candidates_unresolvable',
  (nodeId: string, at, { facts }: DeploymentContext, refuse) => {
    if (facts.nodes === 'unreadable') return refuse(at, nodeId, { nodes: 'unreadable' });
    return facts.nodes.length === 0 ? refuse(at, nodeId, { nodes: 'none' }) : undefined;
  },
);

const nodeIsCandidate = rule(
  'node_not_a_placement_candidate',
  (nodeId: string, at, { facts }: DeploymentContext, refuse) => {
    if (facts.nodes === 'unreadable') return undefined;
    if (facts.nodes.some(node => node.id === nodeId || node.name === nodeId)) return undefined;
    return refuse(at, nodeId, { nodes: facts.nodes.slice(0, LISTED).map(node => node.name) });
  },
);

export const nodeIdRules: FieldRules<DeploymentContext> = {
  field: 'nodeId',
  present: [nodesAreKnown, nodeIsCandidate],
};
