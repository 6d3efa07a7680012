import type { Candidate } from '../candidate.js';
import type { Filter } from '../filter.js';
import { placeOf, type Surroundings } from '../surroundings.js';
import type { Apart, Workload } from '../workload.js';

/**
 * Keeps apart what may not meet in one place: the deployment's own replicas, other deployments that it names, and those
 * that name it. A replica counts until its record is gone, because its container may still be there.
 *
 * A node that does not say in which place it is cannot be known to be apart, so it is refused.
 */
export const antiAffinity: Filter = {
  name: 'anti_affinity',
  accepts: (node, workload, around) => workload.apart.length === 0 || firstMet(node, workload, around) < 0,
  words: (node, workload, around) => {
    const position = firstMet(node, workload, around);
    const apart = workload.apart[position]!;
    return [wish(apart, workload), found(node, apart, position, around)];
  },
};

/** Which of those that the workload must be apart from is in the node's place; -1: none. */
function firstMet(node: Candidate, { apart }: Workload, around: Surroundings): number {
  return apart.findIndex(({ topologyKey, own }, position) => {
    const place = placeOf(node, topologyKey);
    return place === undefined ? own : around.othersIn(position, place) > 0;
  });
}

function wish({ deployment, topologyKey }: Apart, workload: Workload): string {
  const whom = deployment === workload.deployment ? 'its other replicas' : deployment;
  return `apart from ${whom} by ${topologyKey}`;
}

function found(node: Candidate, { topologyKey }: Apart, position: number, around: Surroundings): string {
  const place = placeOf(node, topologyKey);
  if (place === undefined) return `no ${topologyKey} on the node`;
  const where = topologyKey === 'node' ? 'on the node' : `in ${topologyKey}=${place}`;
  return `${around.othersIn(position, place)} of them ${where}`;
}
