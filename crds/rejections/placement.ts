import { exampleDeployment, defineEntries, exampleJob } from './entry.js';

/** Why the tenant's nodes could not be listed. */
type NoNodes = { readonly nodes: 'none' | 'unreadable' };

const toStatus = ({ nodes }: NoNodes) => (nodes === 'unreadable' ? 503 : 422);
const network = (fields: Readonly<Record<string, unknown>>) => ({ name: 'backend', ...fields });

/** Section 7.4: nodes, jobs and networks. */
export const placementRejections = defineEntries('7.4', {
  node_candidates_unresolvable: {
    status: toStatus,
    expected: ({ nodes }: NoNodes) =>
      nodes === 'unreadable'
        ? 'the same request, once the nodes can be read again; or no nodeId'
        : 'no nodeId, because the tenant has no nodes yet',
    sample: { nodes: 'none' },
    why: 'A named node must be one of the tenant’s enrolled nodes, and there are none or they cannot be read.',
    remedy: 'Enrol a node, or leave nodeId out and let the scheduler choose.',
    example: exampleDeployment({ nodeId: 'machine-1' }),
    fixed: exampleDeployment(),
  },

  node_not_a_placement_candidate: {
    expected: ({ nodes }: { nodes: readonly string[] }) =>
      `one of the tenant’s nodes (${nodes.join(', ')}), or no nodeId`,
    sample: { nodes: ['machine-1', 'machine-2'] },
    why: 'Work runs only on nodes that the deployment’s own tenant has enrolled.',
    remedy: 'Name one of your nodes, or leave nodeId out and let the scheduler choose.',
    example: exampleDeployment({ nodeId: 'machine-of-another-tenant' }),
    fixed: exampleDeployment({ nodeId: 'machine-1' }),
  },

  node_owned_by_another_tenant: {
    status: 409,
    expected: 'a node name that no other tenant has enrolled',
    why: 'A node’s agent shows every container on its machine to its tenant, so a node belongs to one tenant only.',
    remedy: 'Choose another nodeName, or have the other tenant release its claim.',
    example: { nodeName: 'taken-machine' },
    fixed: { nodeName: 'my-machine' },
  },

  node_claim_release_no_tenant: {
    status: 400,
    expected: 'X-Tenant-ID with the UUID of the tenant that releases its claim',
    why: 'A node may carry claims of two tenants, and each can release only its own.',
    remedy: 'Add the header X-Tenant-ID.',
    example: 'DELETE /api/v1/nodes/machine-1/claim',
    fixed: 'DELETE /api/v1/nodes/machine-1/claim with X-Tenant-ID: 0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10',
  },

  job_node_candidates_unresolvable: {
    status: toStatus,
    expected: ({ nodes }: NoNodes) =>
      nodes === 'unreadable'
        ? 'the same request, once the nodes can be read again; or no nodeId'
        : 'no nodeId, because no agent of the tenant’s nodes is reachable',
    sample: { nodes: 'none' },
    why: 'A named node must have a reachable agent, and no node has one or the nodes cannot be read.',
    remedy: 'Enrol a node or start its agent, or leave nodeId out.',
    example: exampleJob({ nodeId: 'machine-1' }),
    fixed: exampleJob(),
  },

  job_node_not_found: {
    expected: ({ nodes }: { nodes: readonly string[] }) =>
      `one of the tenant’s nodes (${nodes.join(', ')}), or no nodeId`,
    sample: { nodes: ['machine-1', 'machine-2'] },
    why: 'A job can only run on a node that exists.',
    remedy: 'Name one of your nodes, or leave nodeId out.',
    example: exampleJob({ nodeId: 'nowhere' }),
    fixed: exampleJob({ nodeId: 'machine-1' }),
  },

  network_node_candidates_unresolvable: {
    status: toStatus,
    expected: ({ nodes }: NoNodes) =>
      nodes === 'unreadable' ? 'the same request, once the nodes can be read again' : 'a tenant with an enrolled node',
    sample: { nodes: 'none' },
    why: 'A network is created on one node, and the tenant has no node or its nodes cannot be read.',
    remedy: 'Enrol a node first.',
    example: 'POST /api/v1/networks as a tenant without nodes',
    fixed: 'POST /api/v1/networks once a node is enrolled',
  },

  network_node_not_a_candidate: {
    expected: ({ nodes }: { nodes: readonly string[] }) => `one of the tenant’s nodes: ${nodes.join(', ')}`,
    sample: { nodes: ['machine-1', 'machine-2'] },
    why: 'The tenant cannot place workloads on the named node, so nothing could ever use the network.',
    remedy: 'Name one of your nodes.',
    example: network({ nodeId: 'machine-of-another-tenant' }),
    fixed: network({ nodeId: 'machine-1' }),
  },

  network_node_required: {
    expected: ({ nodes }: { nodes: readonly string[] }) => `the node to create it on: ${nodes.join(', ')}`,
    sample: { nodes: ['machine-1', 'machine-2'] },
    why: 'A network is created on one node, and with several to choose from the platform does not guess.',
    remedy: 'Set nodeId.',
    example: network({}),
    fixed: network({ nodeId: 'machine-1' }),
  },

  network_option_unsupported_on_agent: {
    expected: 'only name, driver bridge, labels, internal and nodeId',
    why: 'Nothing else is sent to the node’s agent, so the option would have no effect.',
    remedy: 'Remove the option.',
    example: network({ nodeId: 'machine-1', subnet: '10.0.0.0/24' }),
    fixed: network({ nodeId: 'machine-1' }),
  },
});
