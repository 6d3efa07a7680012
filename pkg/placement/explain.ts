import { formatFree } from '../../crds/grammar/index.js';
import type { FilterRejection } from '../../crds/scheduling/index.js';
import { checkFilter, type Filter } from './feasibility.js';
import {
  type Amounts,
  type Candidate,
  countSiblings,
  resourceKinds,
  withoutLastReplica,
  withReplicas,
  type Workload,
} from './model.js';
import { compareCandidates, type NodeScores, scoreNode } from './rank.js';
import { TopologyCounts } from './topology.js';

/** What one filter says of one node. */
export interface FilterVerdict {
  readonly filter: string;
  readonly ok: boolean;
  /** Why not, when it is not ok. */
  readonly reason?: FilterRejection;
}

/** Everything that placement has to say of one node. */
export interface ExplainedNode {
  readonly node: string;
  readonly nodeId: string;
  /** Replicas of the deployment that are on it. */
  readonly replicas: number;
  /** Of every filter, in order. For a node that holds replicas already: as if the last of them were yet to come. */
  readonly verdicts: readonly FilterVerdict[];
  readonly scores: NodeScores;
  /** 1 is the best among the nodes that will do; null: it will not. */
  readonly rank: number | null;
  /** Why the replicas that are on the node may be there, or why no longer. Only where there are some. */
  readonly whyHere?: string;
}

/** The answer to "why there and not here": every node, by name. */
export interface Explanation {
  readonly nodes: readonly ExplainedNode[];
  /** How many nodes would take a replica more, or may keep the one they have. */
  readonly able: number;
}

/** Puts every node to every filter and ranks those that will do, whether or not replicas wait. */
export function explainNodes(
  workload: Workload,
  candidates: readonly Candidate[],
  filters: readonly Filter[],
): Explanation {
  const near = candidates.filter(({ replicasByDeployment }) => isConcerned(workload, replicasByDeployment));
  const around = new TopologyCounts(workload, near);
  const judged = candidates.map(node => judge(node, workload, { near, around, filters }));
  const compare = compareCandidates(workload, around);
  const able = judged.filter(({ verdicts }) => verdicts.every(({ ok }) => ok));
  able.sort((a, b) => compare(a.seen, b.seen));
  const ranks = new Map(able.map(({ seen }, position) => [seen.id, position + 1]));
  const nodes = judged.map(({ seen, replicas, verdicts, scores }) => ({
    node: seen.name,
    nodeId: seen.id,
    replicas,
    verdicts,
    scores,
    rank: ranks.get(seen.id) ?? null,
    ...(replicas > 0 && { whyHere: whyHere(verdicts, scores, formatFreeResources(seen, workload.requests)) }),
  }));
  return { nodes: nodes.sort((a, b) => (a.node < b.node ? -1 : 1)), able: able.length };
}

interface Field {
  /** The nodes with a replica that matters to the workload. */
  readonly near: readonly Candidate[];
  readonly around: TopologyCounts;
  readonly filters: readonly Filter[];
}

function judge(node: Candidate, workload: Workload, { near, around, filters }: Field) {
  const replicas = countSiblings(node, workload).all;
  const [seen, asking] =
    replicas > 0 ? [withReplicas(node, workload, -1), withoutLastReplica(workload)] : [node, workload];
  const seenAround = replicas > 0 ? new TopologyCounts(workload, withOne(near, seen)) : around;
  const verdicts = filters.map((filter): FilterVerdict => {
    const reason = checkFilter(filter, seen, asking, seenAround);
    return reason ? { filter: filter.name, ok: false, reason } : { filter: filter.name, ok: true };
  });
  return { seen, replicas, verdicts, scores: scoreNode(seen, workload, seenAround) };
}

function isConcerned({ deployment, antiAffinity }: Workload, replicas: Candidate['replicasByDeployment']): boolean {
  return replicas.has(deployment) || antiAffinity.some(term => replicas.has(term.deployment));
}

function withOne(candidates: readonly Candidate[], instead: Candidate): readonly Candidate[] {
  return candidates.map(node => (node.id === instead.id ? instead : node));
}

function whyHere(verdicts: readonly FilterVerdict[], { siblingsNear }: NodeScores, free: string): string {
  const against = verdicts.flatMap(({ reason }) => (reason ? [reason.message] : []));
  if (against.length > 0) return `placed earlier; would not be placed here now: ${against.join('; ')}`;
  const company =
    siblingsNear === 0
      ? 'no other replica shares its topology domain'
      : `other replicas in its topology domain: ${siblingsNear}`;
  return `every filter accepts it; ${company}${free === '' ? '' : `; free: ${free}`}`;
}

/** What a node has left of each requested resource: `cpu 1.8 of 2, memory 23 of 24 GiB`. Empty when none is requested. */
export function formatFreeResources({ capacity, used }: Candidate, requests: Partial<Amounts>): string {
  return resourceKinds
    .filter(kind => requests[kind])
    .map(kind => formatFree(kind, Math.max(0, capacity[kind] - used[kind]), capacity[kind]))
    .join(', ');
}
