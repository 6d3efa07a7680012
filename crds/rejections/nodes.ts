import { defineEntries } from './entry.js';

/** Ours: the life of a node after its enrolment, and what a tenant may have. */
export const nodeRejections = defineEntries({
  node_in_use: {
    section: 'ours',
    status: 409,
    expected: ({ replicas }: { replicas: number }) => `a node without replicas; ${replicas} are on this one`,
    sample: { replicas: 3 },
    why: 'Its agent is heard and containers run there: without its record nobody would look after them.',
    remedy: 'Drain the node and wait for node.drained, then repeat the request.',
    example: 'DELETE /api/v1/nodes/machine-1, while it runs containers',
    fixed: 'POST /api/v1/nodes/machine-1/drain, then DELETE /api/v1/nodes/machine-1 once it is empty',
  },

  node_is_control_plane: {
    section: 'ours',
    status: 409,
    expected: 'a node that the control plane does not run on',
    why: 'The control plane answers this very request from that machine, so the machine is not off.',
    remedy: 'Drain the node instead, if it is to be emptied.',
    example: 'POST /api/v1/nodes/control-1/fence',
    fixed: 'POST /api/v1/nodes/control-1/drain',
  },

  node_claims_full: {
    section: 'ours',
    status: 409,
    expected: ({ most }: { most: number }) => `a node with fewer than ${most} claims`,
    sample: { most: 2 },
    why: 'A node is handed from one tenant to one other: a third would wait for nothing that it could see.',
    remedy: 'Have one of the claims released first.',
    example: 'POST /api/v1/nodes/machine-1/claims, for a third tenant',
    fixed: 'POST /api/v1/nodes/machine-1/claims, once a claim was released',
  },

  quota_reached: {
    section: 'ours',
    status: 409,
    expected: ({ kind, limit }: { kind: string; limit: number }) => `at most ${limit} ${kind} of this tenant`,
    sample: { kind: 'nodes', limit: 100 },
    why: 'What one tenant may have is limited, so that there is enough for all.',
    remedy: 'Remove what is not needed, or ask the platform for more.',
    example: 'POST /api/v1/nodes as a tenant that has all the nodes it may have',
    fixed: 'POST /api/v1/nodes, once another node was deleted',
  },
});
