import { formatCount } from '../grammar/index.js';
import { defineEntries } from './entry.js';

/** Ours: the life of a node after its enrolment, and what a tenant may have. */
export const nodeRejections = defineEntries('ours', {
  node_in_use: {
    status: 409,
    expected: ({ replicas, volumes = 0 }: { replicas: number; volumes?: number }) =>
      volumes === 0
        ? `a node without replicas; this one has ${formatCount(replicas, 'replica')}`
        : `a node without replicas and volumes; this one has ${formatCount(replicas, 'replica')} and ${formatCount(volumes, 'volume')}`,
    sample: { replicas: 3 },
    why: 'Containers run on the node, or it has the bytes of volumes; without its record no process would manage them.',
    remedy: 'Drain the node and wait for node.drained, delete its volumes, then repeat the request.',
    example: 'DELETE /api/v1/nodes/machine-1, while it runs containers',
    fixed: 'POST /api/v1/nodes/machine-1/drain, then DELETE /api/v1/nodes/machine-1 once it is empty',
  },

  node_has_volumes: {
    status: 409,
    expected: ({ volumes }: { volumes: readonly string[] }) =>
      `a node without volumes, or force=true; the bytes of ${volumes.join(', ')} are on this one`,
    sample: { volumes: ['db-data', 'uploads'] },
    why: 'No other node that sends heartbeats has all bytes of these volumes, or some were set aside on this machine. Once its record is gone no command reaches them, also when the machine enrols again: it is then another node.',
    remedy:
      'Start the agent of the machine, or those of the other copies, and delete the volumes, or keep the node. To give the bytes up, repeat the request with force=true ("moor delete node machine-1 --force"); docs/OPERATIONS.md says how to get them from the machine by hand.',
    example: 'DELETE /api/v1/nodes/machine-1, while its agent is silent and db-data is on it',
    fixed: 'DELETE /api/v1/nodes/machine-1?force=true',
  },

  node_held_by_another_agent: {
    status: 409,
    expected: 'the agent that holds the lease of the node, or a node whose lease has ended',
    why: 'Two agents with one identity would run every container of the node twice. A copied machine or state folder has the identity of the original.',
    remedy:
      'On a copy: stop the agent, remove its state folder and enrol it under a name of its own. On the original: wait until the lease of the other agent ends, 30 seconds after it is stopped.',
    example: 'POST /agent/v1/heartbeat from a copy of the machine',
    fixed: 'POST /agent/v1/heartbeat once the other agent is stopped',
  },

  node_is_control_plane: {
    status: 409,
    expected: 'a node that the control plane does not run on',
    why: 'The control plane runs on that machine and answers this request, so the machine is not down.',
    remedy: 'Drain the node instead, if it is to be emptied.',
    example: 'POST /api/v1/nodes/control-1/fence',
    fixed: 'POST /api/v1/nodes/control-1/drain',
  },

  node_claims_full: {
    status: 409,
    expected: ({ most }: { most: number }) => `a node with fewer than ${most} claims`,
    sample: { most: 2 },
    why: 'A node has at most one owner and one tenant that waits for it.',
    remedy: 'Have one of the claims released first.',
    example: 'POST /api/v1/nodes/machine-1/claims, for a third tenant',
    fixed: 'POST /api/v1/nodes/machine-1/claims, once a claim was released',
  },

  quota_reached: {
    status: 409,
    expected: ({ kind, limit }: { kind: string; limit: number }) =>
      `at most ${limit} ${limit === 1 ? kind.replace(/s\b/, '') : kind} of this tenant`,
    sample: { kind: 'nodes', limit: 100 },
    why: 'The quota of the tenant is used up.',
    remedy: 'Delete objects that are no longer needed, or ask the operator of the platform for a larger quota.',
    example: 'POST /api/v1/nodes as a tenant that has all the nodes it may have',
    fixed: 'POST /api/v1/nodes, once another node was deleted',
  },
});

/** Ours: an agent’s request for the secrets of a container. */
export const deliveryRejections = defineEntries('ours', {
  environment_not_own: {
    status: 403,
    expected: 'a replica that is placed on this node, at its current generation, and whose secrets are resolved',
    why: 'Secrets are delivered only to the node on which the replica is placed.',
    remedy: 'Wait for the next assignments. If it happens again, treat the machine as compromised.',
    example: 'POST /agent/v1/environment with a replica of another node',
    fixed: 'POST /agent/v1/environment with a replica of this node',
  },

  delivery_ticket_invalid: {
    status: 409,
    expected: 'the ticket of this assignment, before it expires',
    why: 'A ticket is good for one replica, one node, one generation and one minute.',
    remedy: 'Reopen the assignment stream: it begins with fresh tickets.',
    echo: 'never',
    example: 'POST /agent/v1/environment with a ticket of last week',
    fixed: 'POST /agent/v1/environment with the ticket of the latest snapshot',
  },

  delivery_ticket_used: {
    status: 409,
    expected: 'a ticket that has not been used',
    why: 'A ticket is accepted once, because a repeated ticket may have been stolen.',
    remedy: 'Reopen the assignment stream. If the agent did not repeat the request, treat the machine as compromised.',
    echo: 'never',
    example: 'POST /agent/v1/environment twice with one ticket',
    fixed: 'POST /agent/v1/environment with the ticket of the latest snapshot',
  },

  secrets_unresolved: {
    status: 409,
    expected: 'a replica whose secrets can all be read',
    why: 'A container gets all of its secrets or none, and is not created without them.',
    remedy: 'Look at the condition SecretsResolved of the deployment.',
    example: 'POST /agent/v1/environment after a secret was deleted',
    fixed: 'POST /agent/v1/environment once the secret exists again',
  },
});
