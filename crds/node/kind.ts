import { formatBytes, formatCores } from '../grammar/index.js';
import { defineColumns, defineKind } from '../kind/index.js';
import { documentCodes } from '../rejections/index.js';
import type { Metadata } from '../meta/index.js';
import type { Capacity, NodeCondition } from './node.js';
import {
  doublesRequestSchema,
  enrolmentSchema,
  goneDeploymentsRequestSchema,
  goneNodesRequestSchema,
  heartbeatSchema,
  joinTokenRequestSchema,
  renewalSchema,
} from './requests.js';

/** A node as the API shows it, as far as its table reads it. */
interface NodeView {
  readonly id: string;
  readonly name: string;
  readonly status: NodeCondition;
  readonly schedulable: { readonly value: boolean; readonly reason: string };
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  readonly free: Capacity;
  readonly agent: { readonly version: string; readonly lastHeartbeatAt?: string | null };
  readonly metadata: Metadata;
}

/** The tenant’s machines. */
export const nodeKind = defineKind({
  kind: 'Node',
  singular: 'node',
  plural: 'nodes',
  shortNames: [],
  description: 'A machine that the tenant has enrolled, and whose agent runs containers.',
  scope: 'tenant',
  isSupported: true,
  range: 'nodes/',
  keyParts: ['tenant', 'name'],
  statusRange: 'node-status/',
  quotas: { nodes: { default: 100, unit: 'count', countsRecords: true } },
  requests: {
    JoinTokenRequest: joinTokenRequestSchema,
    Enrolment: enrolmentSchema,
    Heartbeat: heartbeatSchema,
    Renewal: renewalSchema,
    GoneDeploymentsRequest: goneDeploymentsRequestSchema,
    GoneNodesRequest: goneNodesRequestSchema,
    DoublesRequest: doublesRequestSchema,
  },
  events: [
    'node.enrolled',
    'node.key_replaced',
    'node.second_agent',
    'node.ready',
    'node.failed',
    'node.lost',
    'node.engine_unreachable',
    'node.engine_recovered',
    'node.labels_changed',
    'node.draining',
    'node.drained',
    'node.undrained',
    'node.fenced',
    'node.claim_released',
    'node.record_unusable',
  ],
  path: '/api/v1/nodes',
  item: '{id}',
  operations: ['list', 'watch', 'get', 'create', 'delete'],
  routes: {
    get: { summary: 'Shows a node, by its id or its name' },
    create: {
      summary: 'Enrols a machine, with a join token',
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
    delete: {
      summary: 'Deletes a node on which nothing runs',
      headers: ['If-Match'],
      codes: ['resource_not_found', 'outcome_unknown', 'node_in_use', 'node_has_volumes', 'revision_mismatch'],
    },
    'POST /join-tokens': {
      summary: 'Mints a token with which one machine may enrol',
      body: 'JoinTokenRequest',
      answer: { status: 201, component: 'Object' },
      codes: documentCodes.request,
    },
    'GET /{id}/replicas': {
      summary: 'What is placed on a node, with requests and host ports, as its agent last reported it',
      answer: { status: 200, component: 'Object' },
      codes: ['resource_not_found'],
    },
    'POST /{id}/drain': {
      summary: 'Gives a node no more work and moves what can be moved',
      answer: { status: 200, component: 'Object' },
      codes: ['resource_not_found', 'outcome_unknown', 'node_is_control_plane'],
    },
    'POST /{id}/undrain': {
      summary: 'Lets a node take work again',
      answer: { status: 200, component: 'Object' },
      codes: ['resource_not_found', 'outcome_unknown'],
    },
    'POST /{id}/fence': {
      summary: 'Declares that nothing runs on a node any more',
      answer: { status: 200, component: 'Object' },
      codes: ['resource_not_found', 'outcome_unknown', 'node_is_control_plane'],
    },
    'DELETE /{nodeName}/claim': {
      summary: 'Releases the tenant’s own claim on a node',
      headers: ['X-Tenant-ID'],
      answer: { status: 200, component: 'Object' },
      codes: [
        'resource_not_found',
        'outcome_unknown',
        'node_claim_release_no_tenant',
        'node_in_use',
        'node_has_volumes',
      ],
    },
    'POST /{nodeName}/claims': {
      summary: 'Records a second claim on a node',
      answer: { status: 201, component: 'Object' },
      codes: ['resource_not_found', 'outcome_unknown', 'node_claims_full'],
    },
  },
  notFound: 'resource_not_found',
  nameField: 'name',
  columns: defineColumns<NodeView>([
    { title: 'NAME', value: ({ name }) => name },
    { title: 'STATUS', value: ({ status }) => status, format: 'state' },
    { title: 'CPU FREE', value: ({ free, capacity }) => `${formatCores(free.cpu)} of ${formatCores(capacity.cpu)}` },
    {
      title: 'MEMORY FREE',
      value: ({ free, capacity }) => `${formatBytes(free.memory)} of ${formatBytes(capacity.memory)}`,
    },
    { title: 'LAST HEARTBEAT', value: ({ agent }) => agent.lastHeartbeatAt ?? '', format: 'age' },
    { title: 'AGE', value: ({ metadata }) => metadata.createdAt, format: 'age' },
    { title: 'AGENT', isWide: true, value: ({ agent }) => agent.version },
    { title: 'ID', isWide: true, value: ({ id }) => id },
    {
      title: 'LABELS',
      isWide: true,
      value: ({ labels }) =>
        Object.entries(labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(', '),
    },
    {
      title: 'MESSAGE',
      isWide: true,
      value: ({ schedulable }) => schedulable.reason,
      isWarning: ({ schedulable, controlPlane }) => !schedulable.value && !controlPlane,
    },
  ]),
});
