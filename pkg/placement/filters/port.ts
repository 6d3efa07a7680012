import type { Filter } from '../filter.js';

/** Wants the asked host ports free: two containers of one machine cannot both have one. */
export const port: Filter = (node, workload) => {
  const taken = workload.hostPorts.filter(asked => node.heldPorts.has(asked));
  if (taken.length === 0) return undefined;
  return {
    filter: 'port',
    required: workload.hostPorts.join(', '),
    reported: `${taken.join(', ')} taken`,
    message: `another replica on the node holds ${taken.join(', ')}`,
  };
};
