import { defineEntries } from './entry.js';

/** What an agent may hear that asks for the secrets of a container. */
export const deliveryRejections = defineEntries({
  environment_not_own: {
    section: 'ours',
    status: 403,
    expected: 'a replica that is placed on this node, at its present generation, and whose secrets are resolved',
    why: 'Secrets go to the one container they are meant for, and to nobody who merely asks.',
    remedy: 'Wait for the next assignments. If it happens again, treat the machine as compromised.',
    example: 'POST /agent/v1/environment with a replica of another node',
    fixed: 'POST /agent/v1/environment with a replica of this node',
  },

  delivery_ticket_invalid: {
    section: 'ours',
    status: 409,
    expected: 'the ticket that came with this assignment, within its time',
    why: 'A ticket is good for one replica, one node, one generation and one minute.',
    remedy: 'Open the stream of assignments anew: it begins with fresh tickets.',
    echo: 'never',
    example: 'POST /agent/v1/environment with a ticket of last week',
    fixed: 'POST /agent/v1/environment with the ticket of the latest snapshot',
  },

  delivery_ticket_used: {
    section: 'ours',
    status: 409,
    expected: 'a ticket that has not been used',
    why: 'Whoever shows a ticket a second time may have stolen it, so secrets are given out for it once.',
    remedy: 'Open the stream of assignments anew. If nobody repeated the request, treat the machine as compromised.',
    echo: 'never',
    example: 'POST /agent/v1/environment twice with one ticket',
    fixed: 'POST /agent/v1/environment with the ticket of the latest snapshot',
  },

  secrets_unresolved: {
    section: 'ours',
    status: 409,
    expected: 'a replica all of whose secrets can be had',
    why: 'A container gets all of its secrets or none, and without them it is not made.',
    remedy: 'Look at the condition SecretsResolved of the deployment.',
    example: 'POST /agent/v1/environment after a secret was deleted',
    fixed: 'POST /agent/v1/environment once it is there again',
  },
});
