import { refusal } from '../../../crds/scheduling/index.js';
import type { Filter } from '../filter.js';

/** Keeps a workload on the nodes of its own tenant. */
export const tenant: Filter = {
  name: 'tenant',
  refuse: (node, workload) =>
    node.tenant === workload.tenant ? undefined : refusal('tenant', workload.tenant, 'another tenant'),
};
