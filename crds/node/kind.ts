import { formatBytes, formatCores } from '../grammar/index.js';
import { defineColumns, defineKind } from '../kind/index.js';
import type { Metadata } from '../meta/index.js';
import type { Capacity, NodeCondition } from './node.js';
import { enrolmentSchema, heartbeatSchema, joinTokenRequestSchema, renewalSchema } from './requests.js';

/** A node as the API shows it, as far as its table reads it. */
interface NodeView {
  readonly id: string;
  readonly name: string;
  readonly status: NodeCondition;
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
  },
  events: [
    'node.enrolled',
    'node.ready',
    'node.failed',
    'node.lost',
    'node.labels_changed',
    'node.drained',
    'node.claim_released',
  ],
  path: '/api/v1/nodes',
  item: '{id}',
  operations: ['list', 'watch', 'get', 'create', 'delete'],
  summaries: {
    get: 'Shows a node, by its id or its name',
    create: 'Enrols a machine, with a join token',
    delete: 'Deletes a node on which nothing runs',
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
  ]),
});
