import { formatFree } from '../../crds/grammar/index.js';
import type { FilterRejection } from '../../crds/scheduling/index.js';
import { checkFilter, countFree, filters } from './filters.js';
import {
  type Amounts,
  type Candidate,
  countSiblings,
  resourceKinds,
  TopologyCounts,
  removeLastReplica,
  withReplicas,
  type Workload,
} from './model.js';
import { compareCandidates, type NodeScores, scoreNode } from './rank.js';

/** The answer of one filter for one node. */
export interface FilterVerdict {
  readonly filter: string;
  readonly ok: boolean;
  /** Why not, when it is not ok. */
  readonly reason?: FilterRejection;
}

/** One node with the answers of all filters, its scores and its rank. */
export interface ExplainedNode {
  readonly node: string;
  readonly nodeId: string;
  /** Replicas of the deployment on the node. */
  readonly replicas: number;
  /** Of every filter, in order, about one more replica; or about those that are to be replaced. */
  readonly verdicts: readonly FilterVerdict[];
  readonly scores: NodeScores;
  /** 1 is the best of the nodes that every filter accepts; null: some filter rejects it. */
  readonly rank: number | null;
  /** Why the replicas on the node may be there, or why they would not be placed there now. Only where there are some. */
  readonly whyHere?: string;
}

/** Why replicas are on these nodes and not on others: every node, by name. */
export interface Explanation {
  readonly nodes: readonly ExplainedNode[];
  /** How many nodes would take one more replica, or the next one in the place of one that they have. */
  readonly able: number;
}

/** What happens to the replicas that a deployment has: a changed template replaces them, one after the other. */
export type OwnReplicas = 'stay' | 'are replaced';

/** Checks every node with every filter and ranks those that pass, whether or not replicas wait. */
export function explainNodes(
  workload: Workload,
  candidates: readonly Candidate[],
  own: OwnReplicas = 'stay',
): Explanation {
  const deployments = [workload, ...workload.antiAffinity].map(({ deployment }) => deployment);
  const counted = candidates.filter(({ replicasByDeployment: replicas }) =>
    deployments.some(name => replicas.has(name)),
  );
  const counts = new TopologyCounts(workload, counted);
  const checked = candidates.map(node => {
    const replicas = countSiblings(node, workload).all;
    if (replicas === 0) return { node, replicas, whyHere: undefined, ...checkNode(node, workload, counts) };
    const before = checkWithoutLast(node, workload, counted);
    const whyHere = describeReplicas(before, formatFreeResources(node, workload.requests));
    const seen = own === 'stay' ? { node, ...checkNode(node, workload, counts) } : before;
    return { replicas, whyHere, ...seen };
  });
  const compare = compareCandidates(workload, counts);
  const able = checked.filter(({ verdicts }) => verdicts.every(({ ok }) => ok));
  able.sort((a, b) => compare(a.node, b.node));
  const ranks = new Map(able.map(({ node }, position) => [node.id, position + 1]));
  const nodes = checked.map(({ node, replicas, verdicts, scores, whyHere }): ExplainedNode => {
    const about = { node: node.name, nodeId: node.id, replicas, verdicts, scores, rank: ranks.get(node.id) ?? null };
    return whyHere === undefined ? about : { whyHere, ...about };
  });
  return { nodes: nodes.sort((a, b) => (a.node < b.node ? -1 : 1)), able: able.length };
}

/** The answer of each filter for every node that it accepts. */
const passes: readonly FilterVerdict[] = filters.map(({ name }) => ({ filter: name, ok: true }));

function checkNode(node: Candidate, workload: Workload, counts: TopologyCounts) {
  const verdicts = filters.map((filter, at): FilterVerdict => {
    const reason = checkFilter(filter, node, workload, counts);
    return reason ? { filter: filter.name, ok: false, reason } : passes[at]!;
  });
  return { verdicts, scores: scoreNode(node, workload, counts) };
}

/** Checks a node that holds replicas of the workload as it was before the last of them was placed. */
function checkWithoutLast(present: Candidate, workload: Workload, counted: readonly Candidate[]) {
  const node = withReplicas(present, workload, -1);
  const others = counted.map(each => (each.id === node.id ? node : each));
  return { node, ...checkNode(node, removeLastReplica(workload), new TopologyCounts(workload, others)) };
}

function describeReplicas(
  { verdicts, scores: { siblingsNear } }: Pick<ExplainedNode, 'verdicts' | 'scores'>,
  free: string,
): string {
  const rejections = verdicts.flatMap(({ reason }) => (reason ? [reason.message] : []));
  if (rejections.length > 0) return `placed earlier; would not be placed here now: ${rejections.join('; ')}`;
  const siblings =
    siblingsNear === 0
      ? 'no other replica shares its topology domain'
      : `other replicas in its topology domain: ${siblingsNear}`;
  return `every filter accepts it; ${siblings}${free === '' ? '' : `; free: ${free}`}`;
}

/** What a node has left of each requested resource: `cpu 1.8 of 2, memory 23 of 24 GiB`. Empty when none is requested. */
export function formatFreeResources(node: Candidate, requests: Partial<Amounts>): string {
  const requested = resourceKinds.filter(kind => requests[kind]);
  return requested.map(kind => formatFree(kind, countFree(node, kind), node.capacity[kind])).join(', ');
}
