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

  sign_in_code_invalid: {
    status: 401,
    expected: 'the code of a sign-in link that was not used and is not older than ten minutes',
    why: 'The link was used before, is older than ten minutes, or is of a server that was restarted since.',
    remedy: 'Ask for a new link: "moor up" prints one, also while everything runs. Or sign in with a token.',
    echo: 'never',
    example: 'POST /api/v1/tokens/sign-in twice with one code',
    fixed: 'POST /api/v1/tokens/sign-in with a fresh code',
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
    remedy:
      'Restore the agent’s key or choose another nodeName. If the key is lost, enrol with a join token made for this name (moor nodes join-token --name) once the node sends no heartbeats.',
    example: 'POST /api/v1/nodes with a new key and the name of an enrolled node',
    fixed: 'POST /api/v1/nodes with the key it was enrolled with',
  },

  node_proof_invalid: {
    status: 403,
    expected: 'a signature by the node’s own key over this very request',
    why: 'Only the holder of a node’s key may act as that node.',
    remedy:
      'Check that the agent uses the key it enrolled with, and that nothing in between changes the request or drops the header Mooring-Agent.',
    echo: 'never',
    example: 'POST /agent/v1/token with a proof made by another key',
    fixed: 'POST /agent/v1/token with a proof made by the node’s key',
  },

  node_proof_required: {
    status: 401,
    expected: 'the header Mooring-Proof with a signature by the node’s key over this request',
    why: 'The token of a node may be stolen, so it counts only with a proof that the caller holds the node’s key.',
    remedy:
      'Sign each request with the node’s key, as moor agent does. If it does, see whether a proxy in between drops the header.',
    echo: 'never',
    example: 'POST /agent/v1/heartbeat with Authorization: Bearer mnd_… and no Mooring-Proof',
    fixed: 'POST /agent/v1/heartbeat with both',
  },

  node_proof_stale: {
    status: 403,
    expected: ({ seconds }: { seconds: number }) =>
      `a proof made within ${seconds} seconds of the server’s time, and after the server was started`,
    sample: { seconds: 30 },
    why: 'An old proof may have been recorded and sent again.',
    remedy: 'Repeat the request with a new proof. The header Mooring-Time of the answer is the server’s time.',
    echo: 'never',
    example: 'POST /agent/v1/heartbeat with a proof of last week',
    fixed: 'POST /agent/v1/heartbeat with a proof of now',
  },

  node_proof_replayed: {
    status: 403,
    expected: 'a proof that was not used before',
    why: 'A proof is good for one request, because a repeated one may have been recorded on its way and sent by an attacker.',
    remedy: 'Repeat the request with a new proof. If the agent did not repeat it, treat its connection as observed.',
    echo: 'never',
    example: 'POST /agent/v1/heartbeat twice with one Mooring-Proof',
    fixed: 'POST /agent/v1/heartbeat with a new Mooring-Proof',
  },

  renewal_replayed: {
    status: 403,
    expected: 'a time later than that of the node’s last renewal',
    why: 'Each renewal is good once: a repeated one may have been recorded on its way and sent by an attacker.',
    remedy: 'Sign again with the present time. Set the clock of the machine if it was set back.',
    example: 'POST /agent/v1/token twice with one body',
    fixed: 'POST /agent/v1/token with at of now',
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
    expected: 'reports of this node only, with its own nodeId',
    why: 'An agent may report its own containers only; one report in the name of another node discredits the whole batch.',
    remedy: 'Restart the agent. If it happens again, treat the machine as compromised.',
    example: 'POST /agent/v1/reports with the nodeId of another node',
    fixed: 'POST /agent/v1/reports with the node’s own id',
  },
});
