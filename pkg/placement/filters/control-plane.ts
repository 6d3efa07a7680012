import type { Filter } from '../filter.js';

/** Keeps the node that the control plane runs on for the platform. Nothing on a deployment overrides this. */
export const controlPlane: Filter = (node, workload) => {
  if (!node.controlPlane || workload.platform) return undefined;
  return {
    filter: 'control_plane',
    required: 'a node for tenants',
    reported: 'the node of the control plane',
    message: 'the control plane runs on this node, so it takes no new work but the platform’s',
  };
};
