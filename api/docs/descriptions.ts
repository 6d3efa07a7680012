import { getOperationRoute, type Kind, type KindOperation } from '../../crds/kind/index.js';
import type { RejectionCode } from '../../crds/rejections/index.js';
import { getAnswerName, type RouteDescription } from '../../crds/schemas/index.js';
import type { Route } from '../http/route.js';
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

/**
 * What the descriptor of a kind does not say of a route, as `METHOD path`: the codes of writes, and all about routes that
 * are no operation of a kind. A route that neither describes keeps the document from being made.
 */
export const descriptions: Readonly<Record<string, Partial<RouteNotes>>> = {
  'POST /api/v1/deployments': { codes: documentCodes.deploymentCreate },
  'PUT /api/v1/deployments/{name}': { codes: documentCodes.deploymentChange },
  'DELETE /api/v1/deployments/{name}': {
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
    body: 'SecretWrite',
    answer: made,
    otherwise: [object],
    codes: documentCodes.secretWrite,
  },
  'DELETE /api/v1/secrets/{namespace}/{resource}': {
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

  'POST /api/v1/jobs': { codes: documentCodes.job },
  'POST /api/v1/networks': { codes: documentCodes.network },

  'POST /api/v1/nodes/join-tokens': {
    summary: 'Mints a token with which one machine may enrol',
    body: 'JoinTokenRequest',
    answer: made,
    codes: documentCodes.request,
  },
  'POST /api/v1/nodes': {
    body: 'Enrolment',
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

  'POST /api/v1/tenants': { codes: documentCodes.request },
  'GET /api/v1/tenants/{tenant}/quotas': { summary: 'What a tenant may have, and what it has', answer: object },
  'PUT /api/v1/tenants/{tenant}/quotas': {
    summary: 'Sets what a tenant may have',
    body: 'QuotaRequest',
    answer: object,
    codes: [...documentCodes.request, ...nodeCodes],
  },
  'POST /api/v1/tokens': { codes: documentCodes.request },
  'DELETE /api/v1/tokens/{id}': { codes: nodeCodes },

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
    codes: [
      ...documentCodes.request,
      'auth_invalid',
      'node_proof_invalid',
      'renewal_time_skewed',
      'renewal_replayed',
      'rate_limited',
      'outcome_unknown',
    ],
  },

  'GET /healthz': { summary: 'Whether the control plane is well', answer: object },
  'GET /livez': { summary: 'Whether this server runs', answer: object },
  'GET /readyz': { summary: 'Whether this server can serve', answer: object },
  'GET /metrics': { summary: 'Measurements, for Prometheus', answer: ok },
  'GET /docs/codes': { summary: 'Every code there is', answer: object },
  'GET /docs/codes/{code}': {
    summary: 'What a code means and how to fix the request',
    answer: object,
    codes: ['resource_not_found'],
  },
  'GET /docs/api': { summary: 'This interface, for people', answer: ok },
  'GET /openapi.json': { summary: 'This interface, for programs', answer: object },
};

/** What the descriptor of a kind says of a route: what the operation does, what it takes, and what it answers. */
export function describeOperation({ method, path }: Route, known: readonly Kind[]): Partial<RouteNotes> {
  for (const kind of known) {
    const operation = kind.operations.find(each => {
      const route = getOperationRoute(kind, each);
      return kind.path !== undefined && route.method === method && route.path === path;
    });
    if (operation) {
      const notes = describers[operation](kind);
      return { ...notes, summary: kind.summaries?.[operation] ?? notes.summary };
    }
  }
  return {};
}

const describeList = (kind: Kind): RouteNotes => {
  const isWatched = kind.operations.includes('watch');
  return {
    summary: `Lists ${kind.scope === 'tenant' ? 'the tenant’s ' : ''}${kind.plural}${isWatched ? ', or follows them' : ''}`,
    answer: { status: 200, component: `${getAnswerName(kind)}List` },
    codes: isWatched ? ['watch_expired'] : [],
  };
};

const describers: Readonly<Record<KindOperation, (kind: Kind) => RouteNotes>> = {
  list: describeList,
  watch: describeList,
  get: kind => ({
    summary: `Shows ${withArticle(kind)}${kind.statusRange === undefined ? '' : ' with its status'}`,
    answer: { status: 200, component: getAnswerName(kind) },
    codes: [kind.notFound ?? 'resource_not_found'],
  }),
  create: kind => ({
    ...(kind.isSupported
      ? { summary: `Creates ${withArticle(kind)}`, answer: { status: 201, component: getAnswerName(kind) } }
      : {
          summary: `Judges ${withArticle(kind)}; only with dryRun, until ${kind.plural} are carried out`,
          answer: object,
        }),
    body: kind.body ? kind.kind : `${kind.kind}Request`,
  }),
  update: kind => ({
    summary: `Changes ${withArticle(kind)}: sent fields replace, others stay, null removes`,
    ...(kind.body && { headers: ifMatch, body: `${kind.kind}Change` }),
    answer: { status: 200, component: getAnswerName(kind) },
  }),
  delete: kind => ({
    summary: `Deletes ${withArticle(kind)}`,
    ...(kind.body && { headers: ifMatch }),
    answer: { status: 200, component: getAnswerName(kind) },
  }),
};

function withArticle({ singular }: Kind): string {
  return `${/^[aeiou]/.test(singular) ? 'an' : 'a'} ${singular}`;
}
