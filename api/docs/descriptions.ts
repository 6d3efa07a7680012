import type { RejectionCode } from '../../crds/rejections/index.js';
import type { RouteDescription } from '../../crds/schemas/index.js';
import { documentCodes } from './route-codes.js';

/** What the route table does not say of a route: what it is for, what it takes and answers, and what it refuses. */
export type RouteNotes = Pick<RouteDescription, 'summary' | 'body' | 'answer' | 'otherwise' | 'headers'> & {
  readonly codes?: readonly RejectionCode[];
};

const ok = { status: 200 } as const;
const object = { status: 200, component: 'Object' } as const;
const list = { status: 200, component: 'ObjectList' } as const;
const made = { status: 201, component: 'Object' } as const;
const ifMatch = ['If-Match'] as const;
const nodeCodes = ['resource_not_found', 'outcome_unknown'] as const;

/** Every route, as `METHOD path`. One that is missing keeps the document from being made. */
export const descriptions: Readonly<Record<string, RouteNotes>> = {
  'GET /api/v1/deployments': {
    summary: 'Lists the tenant’s deployments, or follows them',
    answer: { status: 200, component: 'DeploymentAnswerList' },
    codes: ['watch_expired'],
  },
  'POST /api/v1/deployments': {
    summary: 'Creates a deployment',
    body: 'Deployment',
    answer: { status: 201, component: 'DeploymentAnswer' },
    codes: documentCodes.deploymentCreate,
  },
  'GET /api/v1/deployments/{name}': {
    summary: 'Shows a deployment with its status',
    answer: { status: 200, component: 'DeploymentAnswer' },
    codes: ['deployment_not_found'],
  },
  'PUT /api/v1/deployments/{name}': {
    summary: 'Changes a deployment: sent fields replace, others stay, null removes',
    headers: ifMatch,
    body: 'DeploymentChange',
    answer: { status: 200, component: 'DeploymentAnswer' },
    codes: documentCodes.deploymentChange,
  },
  'DELETE /api/v1/deployments/{name}': {
    summary: 'Asks for a deployment and its containers to go',
    headers: ifMatch,
    answer: { status: 200, component: 'DeploymentAnswer' },
    codes: [
      'deployment_not_found',
      'revision_mismatch',
      'outcome_unknown',
      'secret_material_would_persist',
      'secret_generate_would_persist',
    ],
  },
  'GET /api/v1/deployments/{name}/explain': {
    summary: 'Says of every node why it takes or refuses the deployment',
    answer: object,
    codes: ['deployment_not_found'],
  },
  'GET /api/v1/deployments/{name}/logs': {
    summary: 'What the containers of a deployment print',
    answer: ok,
    codes: ['deployment_not_found', 'logs_unavailable', 'logs_too_many'],
  },
  'GET /api/v1/scheduler/regions': { summary: 'The declared regions, and whether they are enforced', answer: object },

  'PUT /api/v1/secrets/{namespace}/{resource}': {
    summary: 'Writes the next version of a credential; no value is ever answered',
    body: 'SecretWrite',
    answer: made,
    otherwise: [object],
    codes: documentCodes.secretWrite,
  },
  'DELETE /api/v1/secrets/{namespace}/{resource}': {
    summary: 'Destroys a credential that nothing refers to',
    answer: object,
    codes: [
      'secret_in_use',
      'secret_rotation_open',
      'secret_path_namespace',
      'secret_path_shape',
      'secret_store_unavailable',
      'secret_unreadable',
      'outcome_unknown',
    ],
  },
  'GET /api/v1/secrets/resources': { summary: 'Every credential that the tenant refers to', answer: list },
  'GET /api/v1/secrets/resources/{name}/consumers': {
    summary: 'The deployments that refer to a credential, and the keys that they use',
    answer: object,
  },

  'GET /api/v1/deployments/{name}/secrets/rotation': {
    summary: 'How far the rotation of a credential is',
    answer: object,
    codes: ['deployment_not_found', 'field_invalid'],
  },
  'POST /api/v1/deployments/{name}/secrets/rotate': {
    summary: 'Asks for the next phase of a rotation',
    headers: ifMatch,
    body: 'RotationRequest',
    answer: object,
    codes: documentCodes.rotation,
  },

  'POST /api/v1/jobs': {
    summary: 'Judges a job; only with dryRun, until jobs are carried out',
    body: 'Job',
    answer: object,
    codes: documentCodes.job,
  },
  'POST /api/v1/networks': {
    summary: 'Judges a network; only with dryRun, until networks are carried out',
    body: 'Network',
    answer: object,
    codes: documentCodes.network,
  },
  'GET /api/v1/events': {
    summary: 'What happened, oldest first, or as it happens',
    answer: { status: 200, component: 'EventList' },
    codes: ['watch_expired'],
  },

  'GET /api/v1/nodes': { summary: 'Lists the tenant’s nodes, or follows them', answer: list, codes: ['watch_expired'] },
  'GET /api/v1/nodes/{id}': { summary: 'Shows a node, by its id or its name', answer: object },
  'POST /api/v1/nodes/join-tokens': {
    summary: 'Mints a token with which one machine may enrol',
    body: 'JoinTokenRequest',
    answer: made,
    codes: documentCodes.request,
  },
  'POST /api/v1/nodes': {
    summary: 'Enrols a machine, with a join token',
    body: 'Enrolment',
    answer: made,
    codes: [
      ...documentCodes.request,
      'label_invalid',
      'node_label_reserved',
      'node_owned_by_another_tenant',
      'node_key_mismatch',
      'join_token_used',
      'join_token_bound_to_other_name',
      'quota_reached',
      'outcome_unknown',
    ],
  },
  'POST /api/v1/nodes/{id}/drain': {
    summary: 'Gives a node no more work and moves what can be moved',
    answer: object,
    codes: [...nodeCodes, 'node_is_control_plane'],
  },
  'POST /api/v1/nodes/{id}/undrain': { summary: 'Lets a node take work again', answer: object, codes: nodeCodes },
  'POST /api/v1/nodes/{id}/fence': {
    summary: 'Declares that nothing runs on a node any more',
    answer: object,
    codes: [...nodeCodes, 'node_is_control_plane', 'node_in_use'],
  },
  'DELETE /api/v1/nodes/{id}': {
    summary: 'Forgets a node that holds nothing',
    answer: object,
    codes: [...nodeCodes, 'node_in_use', 'node_is_control_plane', 'revision_mismatch'],
  },
  'DELETE /api/v1/nodes/{nodeName}/claim': {
    summary: 'Releases the tenant’s own claim on a node',
    headers: ['X-Tenant-ID'],
    answer: object,
    codes: [...nodeCodes, 'node_claim_release_no_tenant', 'node_in_use'],
  },
  'POST /api/v1/nodes/{nodeName}/claims': {
    summary: 'Records a second claim on a node',
    answer: made,
    codes: [...nodeCodes, 'node_claims_full'],
  },

  'POST /api/v1/tenants': {
    summary: 'Makes a tenant',
    body: 'TenantRequest',
    answer: made,
    codes: documentCodes.request,
  },
  'GET /api/v1/tenants': { summary: 'Lists tenants', answer: list },
  'GET /api/v1/tenants/{tenant}': { summary: 'Shows a tenant', answer: object },
  'GET /api/v1/tenants/{tenant}/quotas': { summary: 'What a tenant may have, and what it has', answer: object },
  'PUT /api/v1/tenants/{tenant}/quotas': {
    summary: 'Sets what a tenant may have',
    body: 'QuotaRequest',
    answer: object,
    codes: [...documentCodes.request, ...nodeCodes],
  },
  'POST /api/v1/tokens': {
    summary: 'Mints a token; its text is answered once and kept nowhere',
    body: 'TokenRequest',
    answer: made,
    codes: documentCodes.request,
  },
  'GET /api/v1/tokens': { summary: 'Lists tokens, without their secrets', answer: list },
  'DELETE /api/v1/tokens/{id}': { summary: 'Ends a token at once', answer: object, codes: nodeCodes },

  'POST /agent/v1/heartbeat': {
    summary: 'An agent says that it is there',
    body: 'Heartbeat',
    answer: object,
    codes: [...documentCodes.request, 'label_invalid', 'node_label_reserved'],
  },
  'POST /agent/v1/reports': {
    summary: 'An agent says what it sees',
    body: 'ReportBatch',
    answer: object,
    codes: [...documentCodes.request, 'report_not_own', 'outcome_unknown'],
  },
  'POST /agent/v1/environment': {
    summary: 'Gives an agent the secrets of one container, once',
    body: 'EnvironmentRequest',
    answer: object,
    codes: [
      ...documentCodes.request,
      'environment_not_own',
      'delivery_ticket_invalid',
      'delivery_ticket_used',
      'secrets_unresolved',
      'secret_store_unavailable',
      'outcome_unknown',
    ],
  },
  'GET /agent/v1/assignments': { summary: 'What is to run on the agent’s node, as it changes', answer: ok },
  'POST /agent/v1/logs/{id}': { summary: 'An agent delivers the output that was asked for', answer: ok },
  'DELETE /agent/v1/logs/{id}': {
    summary: 'An agent says that it carries too many streams to send this one',
    answer: ok,
  },
  'POST /agent/v1/token': {
    summary: 'Renews the token of a node, against a proof of its key',
    body: 'Renewal',
    answer: object,
    codes: [...documentCodes.request, 'auth_invalid', 'node_proof_invalid', 'renewal_time_skewed', 'rate_limited'],
  },

  'GET /healthz': { summary: 'Whether the control plane is well', answer: object },
  'GET /livez': { summary: 'Whether this server runs', answer: object },
  'GET /readyz': { summary: 'Whether this server can serve', answer: object },
  'GET /metrics': { summary: 'Measurements, for Prometheus', answer: ok },
  'GET /docs/codes': { summary: 'Every code there is', answer: object },
  'GET /docs/codes/{code}': {
    summary: 'What a code means and how to mend it',
    answer: object,
    codes: ['resource_not_found'],
  },
  'GET /docs/api': { summary: 'This interface, for people', answer: ok },
  'GET /openapi.json': { summary: 'This interface, for programs', answer: object },
};
