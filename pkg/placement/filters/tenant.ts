import type { Filter } from '../filter.js';

/** Keeps a workload on the nodes of its own tenant. */
export const tenant: Filter = {
  name: 'tenant',
  accepts: (node, workload) => node.tenant === workload.tenant,
  words: (_node, workload) => [workload.tenant, 'another tenant'],
};
