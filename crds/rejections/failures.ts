import { defineEntries } from './entry.js';

/** Not refusals: the platform could not do its part. */
export const failures = defineEntries('failure', {
  store_unavailable: {
    status: 503,
    expected: 'the same request, once the store answers again',
    why: 'The database cannot be reached or takes no more data, so nothing was stored.',
    remedy: 'Repeat the request after the time in Retry-After. If it lasts, have an operator look at GET /healthz.',
    example: 'POST /api/v1/deployments while etcd is down',
    fixed: 'POST /api/v1/deployments once etcd is back',
  },

  store_full: {
    status: 503,
    expected: 'a DELETE, or the same request once the database has room',
    why: 'The database is nearly full, and what is left of it is kept for deletions. Nothing was stored.',
    remedy:
      'Delete what is not needed; the room is there once etcd was compacted and defragmented, which happens by itself within minutes. If it lasts, have an operator enlarge the quota of etcd (docs/OPERATIONS.md).',
    example: 'POST /api/v1/deployments while the database has 96 % of its quota',
    fixed: 'DELETE /api/v1/deployments/old',
  },

  server_overloaded: {
    status: 503,
    expected: 'the same request, once fewer requests are under way',
    why: 'The server has as many requests under way as it can carry, so it did not begin this one.',
    remedy: 'Repeat the request after the time in Retry-After. If it lasts, run another API server.',
    example: 'POST /api/v1/deployments while 160 other requests are under way',
    fixed: 'POST /api/v1/deployments a second later',
  },

  secret_store_unavailable: {
    status: 503,
    expected: 'the same request, once the secrets store answers again',
    why: 'The secrets store cannot be reached, so nothing was stored.',
    remedy: 'Repeat the request after the time in Retry-After.',
    example: 'PUT /api/v1/secrets/deployments/web-db while the secrets store is down',
    fixed: 'PUT /api/v1/secrets/deployments/web-db once it is back',
  },

  secret_unreadable: {
    status: 503,
    expected: 'the same request, once the secret can be opened again',
    why: 'A secret was altered in the store, or is sealed with a key that the server does not have. Nothing was stored.',
    remedy:
      'Ask the operator of the platform to restore the key, or to discard the secret as docs/SECRETS.md describes.',
    example: 'PUT /api/v1/secrets/deployments/web-db while the keyring of the server lacks a key',
    fixed: 'PUT /api/v1/secrets/deployments/web-db once the key is back',
  },

  outcome_unknown: {
    status: 503,
    expected: 'a read of the object before the request is repeated',
    why: 'The database did not answer in time, so it is unknown whether the change was stored.',
    remedy: 'Read the object: when it shows the change, it was stored; otherwise send the request again.',
    example: 'POST /api/v1/deployments while the connection to etcd breaks',
    fixed: 'GET /api/v1/deployments/web, then decide',
  },

  logs_unavailable: {
    status: 503,
    expected: 'the same request, once the node of the replica is reachable',
    why: 'The agent of the node that the replica is placed on did not answer in time.',
    remedy: 'Look at the node with moor get nodes, and ask again when it is ready.',
    example: 'GET /api/v1/deployments/web/logs while the node is down',
    fixed: 'GET /api/v1/deployments/web/logs once the node is back',
  },

  logs_too_many: {
    status: 503,
    expected: 'the same request, once fewer log streams are open on the node',
    why: 'The agent of the node already carries its maximum number of log streams.',
    remedy: 'End a moor logs --follow that is not needed, or repeat the request after the time in Retry-After.',
    example: 'GET /api/v1/deployments/web/logs while 64 others read logs from the same node',
    fixed: 'GET /api/v1/deployments/web/logs once one of them has ended',
  },

  logs_node_silent: {
    status: 503,
    expected: 'the same request, once heartbeats of the node arrive again',
    why: 'The node that the replica is placed on sends no heartbeats, so its agent cannot bring the log.',
    remedy:
      'Look at the node with moor describe node: start its agent, or wait until the replica is placed on another node.',
    example: 'GET /api/v1/deployments/web/logs while the machine is off',
    fixed: 'GET /api/v1/deployments/web/logs once the machine is back',
  },

  logs_engine_unreachable: {
    status: 503,
    expected: 'the same request, once the container engine of the node answers',
    why: 'The agent of the node answers, but the container engine that has the log does not.',
    remedy: 'Look at the node with moor describe node, and restart the container engine on it.',
    example: 'GET /api/v1/deployments/web/logs while the container engine hangs',
    fixed: 'GET /api/v1/deployments/web/logs once the container engine answers',
  },

  internal_failure: {
    status: 500,
    expected: 'the same request, once the fault is fixed',
    why: 'The platform failed unexpectedly. The server’s log has the cause under the request id.',
    remedy: 'Report the request id to the operator of the platform.',
    example: 'any request that meets a bug',
    fixed: 'the same request in a release without it',
  },
});
