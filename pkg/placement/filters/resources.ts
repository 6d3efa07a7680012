import { formatAmount } from '../../../crds/grammar/index.js';
import { type Amounts, type Candidate, kinds } from '../candidate.js';
import type { Filter } from '../filter.js';

/** Wants what the workload requests to be left over by the requests of what is on the node already. */
export const resources: Filter = {
  name: 'resources',
  accepts: (node, { requests: { cpu = 0, memory = 0 } }) => cpu <= free(node, 'cpu') && memory <= free(node, 'memory'),
  words: (node, { requests }) => {
    const short = kinds.filter(kind => (requests[kind] ?? 0) > free(node, kind));
    const required = short.map(kind => formatAmount(kind, requests[kind] ?? 0));
    const reported = short.map(kind => `${formatAmount(kind, free(node, kind))} free`);
    return [required.join(', '), reported.join(', ')];
  },
};

function free({ capacity, used }: Candidate, kind: keyof Amounts): number {
  return Math.max(0, capacity[kind] - used[kind]);
}
