import {
  getOperationRoute,
  type Kind,
  type KindAction,
  type KindOperation,
  type RouteNotes,
} from '../../crds/kind/index.js';
import { documentCodes } from '../../crds/rejections/index.js';
import { getAnswerName } from '../../crds/schemas/index.js';
import type { Route } from '../http/route.js';

const ok = { status: 200 } as const;
const object = { status: 200, component: 'Object' } as const;
const ifMatch = ['If-Match'] as const;

/** Routes that belong to no kind, as `METHOD path`. A route that neither this nor a kind describes keeps the document from being made. */
export const descriptions: Readonly<Record<string, RouteNotes>> = {
  'GET /api/v1/usage': { summary: 'What the deployments and the nodes of the tenant use', answer: object },
  'GET /api/v1/scheduler/regions': { summary: 'The declared regions, and whether they are enforced', answer: object },
  'GET /api/v1/dvm/recommendations': {
    summary: 'What would make the volumes of the tenant safer or cheaper now, the most urgent first',
    answer: object,
    codes: [
      'dvm_recommendation_tenant_required',
      'dvm_recommendation_unknown_priority',
      'dvm_recommendation_unknown_type',
    ],
  },
  'POST /api/v1/dvm/recommendations/{id}/apply': {
    summary: 'Applies a recommendation that holds now',
    headers: ifMatch,
    body: 'RecommendationApply',
    answer: object,
    codes: documentCodes.recommendationApply,
  },
  'GET /api/v1/dvm/recommendations/auto-apply': {
    summary: 'Whether volumes are grown as recommended by themselves',
    answer: object,
    codes: ['dvm_recommendation_tenant_required'],
  },
  'PUT /api/v1/dvm/recommendations/auto-apply': {
    summary: 'Switches on or off that volumes are grown as recommended by themselves, within the quota',
    headers: ifMatch,
    body: 'AutoApplyRequest',
    answer: object,
    codes: [...documentCodes.request, 'dvm_recommendation_tenant_required', 'revision_mismatch', 'outcome_unknown'],
  },
  'POST /agent/v1/heartbeat': {
    summary: 'An agent says that it is there',
    body: 'Heartbeat',
    answer: object,
    codes: [...documentCodes.request, 'label_invalid', 'node_label_reserved', 'node_held_by_another_agent'],
  },
  'POST /agent/v1/reports': {
    summary: 'An agent says what it sees',
    body: 'ReportBatch',
    answer: object,
    codes: [...documentCodes.request, 'report_not_own', 'node_held_by_another_agent', 'outcome_unknown'],
  },
  'POST /agent/v1/environment': {
    summary: 'Gives an agent the secrets of one container, once',
    body: 'EnvironmentRequest',
    answer: object,
    codes: [
      ...documentCodes.request,
      'environment_not_own',
      'node_held_by_another_agent',
      'delivery_ticket_invalid',
      'delivery_ticket_used',
      'secrets_unresolved',
      'secret_store_unavailable',
      'outcome_unknown',
    ],
  },
  'POST /agent/v1/pull-credential': {
    summary: 'Gives an agent the tenant’s login for the registry of one image, once',
    body: 'EnvironmentRequest',
    answer: object,
    codes: [
      ...documentCodes.request,
      'environment_not_own',
      'delivery_ticket_invalid',
      'delivery_ticket_used',
      'secret_store_unavailable',
      'outcome_unknown',
    ],
  },
  'POST /agent/v1/volumes': {
    summary: 'An agent says which volumes of its node exist',
    body: 'VolumeReports',
    answer: object,
    codes: [...documentCodes.request, 'node_held_by_another_agent', 'outcome_unknown'],
  },
  'POST /agent/v1/networks': {
    summary: 'Says which networks of the node its engine has',
    body: 'NetworkReports',
    answer: object,
    codes: [...documentCodes.request, 'node_held_by_another_agent', 'outcome_unknown'],
  },
  'POST /agent/v1/gone-nodes': {
    summary: 'Answers an agent which of these nodes its tenant does not have',
    body: 'GoneNodesRequest',
    answer: object,
    codes: documentCodes.request,
  },
  'POST /agent/v1/doubles': {
    summary: 'Answers an agent that was refused which of its containers run a second time where its node is',
    body: 'DoublesRequest',
    answer: object,
    codes: documentCodes.request,
  },
  'POST /agent/v1/gone-deployments': {
    summary: 'Answers an agent which of these deployments its tenant does not have',
    body: 'GoneDeploymentsRequest',
    answer: object,
    codes: documentCodes.request,
  },
  'GET /agent/v1/assignments': {
    summary: 'What is to run on the agent’s node, as it changes',
    answer: ok,
    codes: ['node_held_by_another_agent'],
  },
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
  'GET /api/v1/config': { summary: 'The settings that this server runs with', answer: object },
  'GET /healthz': { summary: 'Whether the control plane is well', answer: object },
  'GET /livez': { summary: 'Whether this server runs', answer: object },
  'GET /readyz': { summary: 'Whether this server can serve', answer: object },
  'GET /metrics': { summary: 'Measurements, for Prometheus', answer: ok },
  'GET /': { summary: 'The dashboard, for people', answer: ok },
  'GET /assets/{file}': {
    summary: 'A script, a style or a picture of the dashboard',
    answer: ok,
    codes: ['resource_not_found'],
  },
  'GET /docs': { summary: 'The documentation, for people', answer: ok },
  'GET /docs/': { summary: 'The documentation, for people', answer: ok },
  'GET /docs/{page}': { summary: 'A page of the documentation', answer: ok, codes: ['resource_not_found'] },
  'GET /docs/codes': { summary: 'Every code there is', answer: object },
  'GET /docs/codes/{code}': {
    summary: 'What a code means and how to fix the request',
    answer: object,
    codes: ['resource_not_found'],
  },
  'GET /docs/api': { summary: 'This interface, for people', answer: ok },
  'GET /openapi.json': { summary: 'This interface, for programs', answer: object },
};

/** What the descriptor of a kind says of a route: what it does, what it takes, what it answers, what it refuses with. */
export function describeKindRoute({ method, path }: Route, known: readonly Kind[]): Partial<RouteNotes> {
  const owner = known.find(kind => path === kind.path || path.startsWith(`${kind.path}/`));
  const operation = owner?.operations.find(each => {
    const route = getOperationRoute(owner, each);
    return route.method === method && route.path === path;
  });
  if (owner?.path === undefined) return {};
  if (operation) return { ...describers[operation](owner), ...owner.routes?.[operation] };
  return owner.routes?.[`${method} ${path.slice(owner.path.length)}` as KindAction] ?? {};
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
    summary: `Creates ${withArticle(kind)}`,
    answer: { status: 201, component: getAnswerName(kind) },
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
