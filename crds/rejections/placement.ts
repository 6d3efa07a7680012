import { deployment, entries } from './entry.js';

/** Section 7.4: nodes. */
export const placementRejections = entries({
  node_candidates_unresolvable: {
    section: '7.4',
    status: ({ nodes }: { nodes: 'none' | 'unreadable' }) => (nodes === 'unreadable' ? 503 : 422),
    expected: ({ nodes }: { nodes: 'none' | 'unreadable' }) =>
      nodes === 'unreadable'
        ? 'the same request, once the nodes can be read again; or no nodeId'
        : 'a node of this tenant, which has none yet; or no nodeId',
    sample: { nodes: 'none' },
    why: 'A named node is checked against the tenant’s enrolled nodes, and there is no list to check against.',
    remedy: 'Enrol a node, or leave nodeId out and let the scheduler choose.',
    example: deployment({ nodeId: 'machine-1' }),
    mended: deployment(),
  },

  node_not_a_placement_candidate: {
    section: '7.4',
    status: 422,
    expected: ({ nodes }: { nodes: readonly string[] }) =>
      `one of the tenant’s nodes (${nodes.join(', ')}), or no nodeId`,
    sample: { nodes: ['machine-1', 'machine-2'] },
    why: 'Work runs only on nodes that the deployment’s own tenant has enrolled.',
    remedy: 'Name one of your nodes, or leave nodeId out and let the scheduler choose.',
    example: deployment({ nodeId: 'somebody-elses-machine' }),
    mended: deployment({ nodeId: 'machine-1' }),
  },

  node_owned_by_another_tenant: {
    section: '7.4',
    status: 409,
    expected: 'a node name that no other tenant has enrolled',
    why: 'A node’s agent shows every container on its machine to its tenant, so a node belongs to one tenant only.',
    remedy: 'Choose another nodeName, or have the other tenant release its claim.',
    example: { nodeName: 'taken-machine' },
    mended: { nodeName: 'my-machine' },
  },
});
