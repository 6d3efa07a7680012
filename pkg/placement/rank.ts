import type { Amounts, Candidate, Workload } from './candidate.js';

const kinds = ['cpu', 'memory'] as const satisfies readonly (keyof Amounts)[];

/**
 * Which of two able nodes is better, the better first: fewer replicas of the same deployment, then more of what is
 * requested left over, then fewer replicas at all, then the name. Two nodes are never equal.
 */
export function compareCandidates(workload: Workload): (a: Candidate, b: Candidate) => number {
  return (a, b) =>
    a.siblings - b.siblings ||
    leftOver(b, workload) - leftOver(a, workload) ||
    a.replicas - b.replicas ||
    (a.name < b.name ? -1 : 1);
}

/** The best of the able nodes, or undefined when there is none. */
export function best(able: Iterable<Candidate>, workload: Workload): Candidate | undefined {
  const compare = compareCandidates(workload);
  let winner: Candidate | undefined;
  for (const node of able) if (!winner || compare(node, winner) < 0) winner = node;
  return winner;
}

/** The share of each requested kind that would be left, summed. Nodes of different sizes compare by share. */
function leftOver(node: Candidate, { requests }: Workload): number {
  let share = 0;
  for (const kind of kinds) {
    const asked = requests[kind];
    if (asked) share += (node.capacity[kind] - node.used[kind] - asked) / node.capacity[kind];
  }
  return share;
}
