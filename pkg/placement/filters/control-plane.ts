import { refusal } from '../../../crds/scheduling/index.js';
import type { Filter } from '../filter.js';

/** Keeps the node that the control plane runs on for the platform. Nothing on a deployment overrides this. */
export const controlPlane: Filter = {
  name: 'control_plane',
  refuse: (node, workload) =>
    node.controlPlane && !workload.platform
      ? refusal('control_plane', 'a node for tenants', 'the node of the control plane')
      : undefined,
};
