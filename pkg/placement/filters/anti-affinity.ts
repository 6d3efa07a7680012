import { refusal } from '../../../crds/scheduling/index.js';
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
  refuse: (node, workload, around) => {
    for (const [position, apart] of workload.apart.entries()) {
      const place = placeOf(node, apart.topologyKey);
      if (place === undefined) {
        if (apart.own) return refusal('anti_affinity', wish(apart, workload), `no ${apart.topologyKey} on the node`);
      } else if (around.othersIn(position, place) > 0) {
        return refusal('anti_affinity', wish(apart, workload), found(position, place, apart, around));
      }
    }
    return undefined;
  },
};

function wish({ deployment, topologyKey }: Apart, workload: Workload): string {
  const whom = deployment === workload.deployment ? 'its other replicas' : deployment;
  return `apart from ${whom} by ${topologyKey}`;
}

function found(position: number, place: string, { topologyKey }: Apart, around: Surroundings): string {
  const count = around.othersIn(position, place);
  const where = topologyKey === 'node' ? 'on the node' : `in ${topologyKey}=${place}`;
  return `${count} of them ${where}`;
}
