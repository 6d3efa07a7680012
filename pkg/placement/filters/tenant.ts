import type { Filter } from '../filter.js';

/** Keeps a workload on the nodes of its own tenant. */
export const tenant: Filter = (node, workload) => {
  if (node.tenant === workload.tenant) return undefined;
  return {
    filter: 'tenant',
    required: workload.tenant,
    reported: 'another tenant',
    message: 'the node belongs to another tenant',
  };
};
