import type { Filter } from '../filter.js';

/** Keeps the node that the control plane runs on for the platform. Nothing on a deployment overrides this. */
export const controlPlane: Filter = {
  name: 'control_plane',
  accepts: (node, workload) => !node.controlPlane || workload.platform,
  words: () => ['a node for tenants', 'the node of the control plane'],
};
