import { formatFree } from '../../crds/grammar/index.js';
import { type Amounts, type Candidate, kinds } from './candidate.js';

/** What a node has left of each kind that is requested: `cpu 1.8 of 2, memory 23 of 24 GiB`. Empty when none is. */
export function freeWords({ capacity, used }: Candidate, requests: Partial<Amounts>): string {
  return kinds
    .filter(kind => requests[kind])
    .map(kind => formatFree(kind, Math.max(0, capacity[kind] - used[kind]), capacity[kind]))
    .join(', ');
}
