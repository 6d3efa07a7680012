import type { Amounts } from '../candidate.js';
import type { Filter } from '../filter.js';

const MEBIBYTE = 1024 ** 2;

const shown: Readonly<Record<keyof Amounts, (amount: number) => string>> = {
  cpu: amount => `${amount}m cpu`,
  memory: amount => `${Math.floor(amount / MEBIBYTE)}Mi memory`,
};

const kinds = ['cpu', 'memory'] as const;

/** Wants what the workload requests to be left over by the requests of what is on the node already. */
export const resources: Filter = (node, workload) => {
  const short = kinds.filter(
    kind => (workload.requests[kind] ?? 0) > Math.max(0, node.capacity[kind] - node.used[kind]),
  );
  if (short.length === 0) return undefined;

  const required = short.map(kind => shown[kind](workload.requests[kind] ?? 0)).join(', ');
  const reported = short
    .map(kind => `${shown[kind](Math.max(0, node.capacity[kind] - node.used[kind]))} free`)
    .join(', ');
  return { filter: 'resources', required, reported, message: `requires ${required}, the node has ${reported}` };
};
