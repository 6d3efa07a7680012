import { type Amounts, type Candidate, kinds } from './candidate.js';
import type { Surroundings } from './surroundings.js';
import { siblingsOn, type Workload } from './workload.js';

/** What makes one able node better than another, in the order in which it counts. */
export interface Scores {
  /** Replicas of the same deployment in the node's place: fewer are better. */
  readonly siblingsNear: number;
  /** Replicas of the same deployment on the node: fewer are better. */
  readonly siblings: number;
  /** How much of each requested kind is free, in millionths, summed: more is better. */
  readonly free: number;
  /** Replicas of any deployment on the node: fewer are better. */
  readonly replicas: number;
}

/** The scores of a node. */
export function scoresOf(node: Candidate, workload: Workload, around: Surroundings): Scores {
  return {
    siblingsNear: around.siblingsNear(node),
    siblings: siblingsOn(node, workload).staying,
    free: freeShare(node, workload.requests),
    replicas: node.replicas,
  };
}

/**
 * Which of two able nodes is better, the better first: replicas are spread over places and over nodes, then the node with
 * the most free of what is requested, then the emptier, then the name. Two nodes are never equal.
 */
export function compareCandidates(workload: Workload, around: Surroundings): (a: Candidate, b: Candidate) => number {
  const compareLoad = compareByLoad(workload.requests);
  return (a, b) =>
    around.siblingsNear(a) - around.siblingsNear(b) ||
    siblingsOn(a, workload).staying - siblingsOn(b, workload).staying ||
    compareLoad(a, b);
}

/** The part of the ranking that does not depend on who asks, but only on which kinds are requested. */
export function compareByLoad(requests: Partial<Amounts>): (a: Candidate, b: Candidate) => number {
  return (a, b) => freeShare(b, requests) - freeShare(a, requests) || a.replicas - b.replicas || compareByName(a, b);
}

/** For a moment two nodes may bear one name: one that is no more, and the one that has taken its place. */
function compareByName(a: Candidate, b: Candidate): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** The best of the able nodes, or undefined when there is none. */
export function best(
  able: Iterable<Candidate>,
  compare: (a: Candidate, b: Candidate) => number,
): Candidate | undefined {
  let winner: Candidate | undefined;
  for (const node of able) if (!winner || compare(node, winner) < 0) winner = node;
  return winner;
}

/** Nodes of different sizes compare by share. In whole millionths, so that no rounding can upset the order. */
function freeShare({ capacity, used }: Candidate, requests: Partial<Amounts>): number {
  let share = 0;
  for (const kind of kinds) {
    if (!requests[kind] || capacity[kind] <= 0) continue;
    share += Math.max(0, Math.floor(((capacity[kind] - used[kind]) * 1e6) / capacity[kind]));
  }
  return share;
}
