import { defineEntries } from './entry.js';

/** Ours: who is calling, and for whom. */
export const callerRejections = defineEntries('ours', {
  auth_required: {
    status: 401,
    expected: 'Authorization: Bearer <token>',
    why: 'The request carries no token, and this endpoint answers authenticated callers only.',
    remedy: 'Send a token. moor finds the development token by itself.',
    echo: 'never',
    example: 'GET /api/v1/deployments',
    fixed: 'GET /api/v1/deployments with Authorization: Bearer mtk_…',
  },

  auth_invalid: {
    status: 401,
    expected: 'a token that exists, has not expired and has not been revoked',
    why: 'The token is unknown, expired or revoked; the answer does not say which.',
    remedy: 'Ask for a new token.',
    echo: 'never',
    example: 'GET /api/v1/deployments with a revoked token',
    fixed: 'GET /api/v1/deployments with a fresh token',
  },

  auth_forbidden: {
    status: 403,
    expected: ({ needed }: { needed: string }) => needed,
    sample: { needed: 'a tenant token with the role deployer' },
    why: 'The token is valid, but its kind or role does not allow this request.',
    remedy: 'Use a token with the right role.',
    echo: 'never',
    example: 'POST /api/v1/deployments with a viewer’s token',
    fixed: 'POST /api/v1/deployments with a deployer’s token',
  },

  tenant_mismatch: {
    status: 403,
    expected: 'the tenant of the token, or no X-Tenant-ID',
    why: 'A tenant’s token is valid for that tenant only.',
    remedy: 'Leave the header out, or use a token of the other tenant.',
    example: 'GET /api/v1/deployments with another tenant’s X-Tenant-ID',
    fixed: 'GET /api/v1/deployments',
  },

  tenant_header_required: {
    status: 400,
    expected: 'X-Tenant-ID with the UUID of one tenant',
    why: 'An administrator’s token belongs to no tenant, so the request must say which one it is about.',
    remedy: 'Add the header X-Tenant-ID.',
    example: 'GET /api/v1/deployments with an administrator’s token',
    fixed: 'GET /api/v1/deployments with X-Tenant-ID: 0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10',
  },

  tenant_header_invalid: {
    status: 400,
    expected: 'X-Tenant-ID once, with one UUID',
    why: 'A tenant is named by its UUID; a list or a repeated header could mean two.',
    remedy: 'Send one UUID.',
    example: 'GET /api/v1/deployments with X-Tenant-ID: shop',
    fixed: 'GET /api/v1/deployments with X-Tenant-ID: 0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10',
  },

  host_unknown: {
    status: 421,
    expected: 'a Host header with a name or address of this server',
    why: 'A page in a browser could otherwise reach this server under a name of its own.',
    remedy: 'Call the server by its own address, or configure the name.',
    example: 'GET /api/v1/deployments with Host: attacker.example',
    fixed: 'GET /api/v1/deployments with Host: 127.0.0.1:7070',
  },

  join_token_used: {
    status: 409,
    expected: 'a join token that no other machine has used',
    why: 'A join token enrols one machine; only the same key may repeat the enrolment with it.',
    remedy: 'Make a new one with moor nodes join-token.',
    example: 'POST /api/v1/nodes with the join token of another machine',
    fixed: 'POST /api/v1/nodes with a fresh join token',
  },

  join_token_bound_to_other_name: {
    status: 403,
    expected: ({ nodeName }: { nodeName: string }) => `the node name the join token was made for, ${nodeName}`,
    sample: { nodeName: 'machine-1' },
    why: 'The join token was made for one node name.',
    remedy: 'Enrol under that name, or make a join token for this one.',
    example: { nodeName: 'machine-2' },
    fixed: { nodeName: 'machine-1' },
  },

  node_key_mismatch: {
    status: 409,
    expected: 'the key that the node of this name was enrolled with, or another name',
    why: 'The request is signed with another key than the one this node enrolled with, as it would be with a copied token.',
    remedy: 'Restore the agent’s key, choose another nodeName, or delete the node first.',
    example: 'POST /api/v1/nodes with a new key and the name of an enrolled node',
    fixed: 'POST /api/v1/nodes with the key it was enrolled with',
  },

  node_proof_invalid: {
    status: 403,
    expected: 'a signature by the node’s own key over this very request',
    why: 'Only the holder of a node’s key may act as that node.',
    remedy: 'Check that the agent uses the key it enrolled with.',
    echo: 'never',
    example: 'POST /agent/v1/token with a proof made by another key',
    fixed: 'POST /agent/v1/token with a proof made by the node’s key',
  },

  renewal_time_skewed: {
    status: 403,
    expected: ({ seconds }: { seconds: number }) => `a time within ${seconds} seconds of the server’s`,
    sample: { seconds: 120 },
    why: 'The clock of the machine differs too much from the server’s, and an old signature is not accepted.',
    remedy: 'Set the clock of the machine.',
    example: 'POST /agent/v1/token with at of last week',
    fixed: 'POST /agent/v1/token with at of now',
  },

  report_not_own: {
    status: 403,
    expected: 'reports of replicas that are placed on this node only',
    why: 'An agent may report its own containers only; one foreign report discredits the whole batch.',
    remedy: 'Restart the agent. If it happens again, treat the machine as compromised.',
    example: 'POST /agent/v1/reports with a replica of another node',
    fixed: 'POST /agent/v1/reports with the node’s own replicas',
  },
});
